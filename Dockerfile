# Two static binaries in an empty image, run without root.
#
#   docker build -t sluice --build-arg VERSION=$(git describe --tags --always) .
#   docker run -e ACME_PASSWORD -v ./sluice:/var/lib/sluice sluice
#
# The directory holds sluice.yaml and belongs to user 65532; the queue is stored
# beside it. The embedded NATS server listens on loopback, inside the container:
# set nats.url to publish from outside, and http: 0.0.0.0:9464 to read /metrics.
FROM golang:1.26-bookworm AS build
WORKDIR /src
COPY go.mod go.sum ./
RUN go mod download
COPY . .
ARG VERSION=unknown
ARG COMMIT=
RUN make build VERSION=$VERSION COMMIT=$COMMIT && mkdir -p /out/lib/sluice

FROM scratch
COPY --from=build /etc/ssl/certs/ca-certificates.crt /etc/ssl/certs/
COPY --from=build --chown=65532:65532 /out/lib/sluice /var/lib/sluice
COPY --from=build /src/bin/sluice /src/bin/fakesmsc /usr/bin/
USER 65532:65532
VOLUME /var/lib/sluice
ENTRYPOINT ["/usr/bin/sluice"]
CMD ["run", "-c", "/var/lib/sluice/sluice.yaml"]
