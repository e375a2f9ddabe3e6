# Headlight with the small torch for processors; to build it takes BuildKit, which Docker has had on since 23:
#   docker build -t headlight . && docker run --rm headlight survey
# Corpora and results lie in a folder of the host, which is read and written as the user there:
#   docker run --rm --user "$(id -u):$(id -g)" -v "$PWD:/work" headlight survey texts.txt --out run
# The app, for the browsers of the host alone; open the address that it prints, with localhost as the host:
#   docker run --rm -it -p 127.0.0.1:8700:8700 headlight serve --host 0.0.0.0 --allow-remote --port 8700
FROM python:3.12-slim

COPY requirements /requirements
RUN pip install --no-cache-dir --require-hashes --requirement /requirements/build.txt \
 && pip install --no-cache-dir --require-hashes --requirement /requirements/run.txt \
 && pip install --no-cache-dir --index-url https://download.pytorch.org/whl/cpu \
      --constraint /requirements/torch.txt torch
RUN --mount=type=bind,target=/build \
    pip install --no-cache-dir --no-deps --no-build-isolation /build /build/packages/words /build/packages/papers

# Whichever user it is run as can write into both folders; libraries that ask for a name find one.
ENV HOME=/home/reader USER=reader
RUN mkdir --mode=777 /home/reader /work
USER 1000
WORKDIR /work
# Compiles the loops for this processor, which takes seconds, so that no container has to; every user may add to them.
RUN umask 0 && headlight survey --max-examples 2 --out /tmp/first > /dev/null && rm -r /tmp/first
ENTRYPOINT ["headlight"]
CMD ["--help"]
