# Two stages: the first builds, the second holds one binary and the certificates it needs.
FROM rust:1-slim-bookworm AS build
RUN apt-get update && apt-get install -y --no-install-recommends gcc libc6-dev && rm -rf /var/lib/apt/lists/*
WORKDIR /src
COPY . .
RUN cargo build --release --locked --bin posthouse && mkdir /data

FROM debian:bookworm-slim
RUN apt-get update && apt-get install -y --no-install-recommends ca-certificates && rm -rf /var/lib/apt/lists/*
COPY --from=build /src/target/release/posthouse /usr/local/bin/posthouse
# A fixed number: volumes keep their owner across images.
COPY --from=build --chown=10001:10001 /data /data
USER 10001:10001
WORKDIR /
ENV POSTHOUSE__SERVER__LISTEN=0.0.0.0:8080 POSTHOUSE__STORE__DATA_DIR=/data
VOLUME /data
EXPOSE 8080
STOPSIGNAL SIGTERM
HEALTHCHECK --interval=10s --timeout=5s --start-period=10s CMD ["/usr/local/bin/posthouse", "health"]
ENTRYPOINT ["/usr/local/bin/posthouse"]
CMD ["serve"]
