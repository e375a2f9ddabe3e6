# Headlight with the small torch for processors: docker build -t headlight . && docker run --rm headlight survey
# A folder of the host for corpora and results: docker run --rm -v "$PWD:/work" headlight survey texts.txt --out run
FROM python:3.12-slim

RUN pip install --no-cache-dir --index-url https://download.pytorch.org/whl/cpu torch
COPY pyproject.toml README.md LICENSE /build/
COPY src /build/src
COPY packages /build/packages
RUN pip install --no-cache-dir /build /build/packages/papers && rm -r /build \
 && useradd --create-home reader
USER reader
WORKDIR /work
# Compiles the loops for this processor, which takes seconds, so that no container has to.
RUN headlight survey --max-examples 2 > /dev/null
ENTRYPOINT ["headlight"]
CMD ["--help"]
