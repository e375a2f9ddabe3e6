# Headlight with the small torch for processors: docker build -t headlight . && docker run --rm headlight survey
# A folder of the host for corpora and results: docker run --rm -v "$PWD:/work" headlight survey texts.txt --out run
FROM python:3.12-slim

COPY requirements /build/requirements
RUN pip install --no-cache-dir --require-hashes --requirement /build/requirements/build.txt \
 && pip install --no-cache-dir --require-hashes --requirement /build/requirements/run.txt \
 && pip install --no-cache-dir --index-url https://download.pytorch.org/whl/cpu \
      --constraint /build/requirements/torch.txt torch
COPY pyproject.toml README.md LICENSE /build/
COPY src /build/src
COPY packages /build/packages
RUN pip install --no-cache-dir --no-deps --no-build-isolation /build /build/packages/papers && rm -r /build \
 && useradd --create-home reader
USER reader
WORKDIR /work
# Compiles the loops for this processor, which takes seconds, so that no container has to.
RUN headlight survey --max-examples 2 > /dev/null
ENTRYPOINT ["headlight"]
CMD ["--help"]
