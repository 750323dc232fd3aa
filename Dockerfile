# syntax=docker/dockerfile:1
# Images of the gateway, of each service, and of everything in one process:
#   docker build --build-arg SERVICE=gateway --tag commonplace-gateway:0.1.0 .
# SERVICE is gateway, all, or the name of a folder in services/.
ARG NODE=24

# What runs is compiled, and put together by scripts/image/assemble.mjs.
FROM node:${NODE}-bookworm-slim AS build
WORKDIR /src
COPY . .
RUN --mount=type=cache,target=/root/.npm npm ci --ignore-scripts --no-audit --no-fund && npm run --silent build
ARG SERVICE=all
RUN node scripts/image/assemble.mjs "${SERVICE}" /out && mkdir /data

# For `tilt up`: with a shell and the compiler, so that changes can be copied in. Starts anew when its code changes.
FROM build AS dev
RUN cp /out/*.mjs . && chown -R 65532:65532 .
USER 65532:65532
EXPOSE 8080 9090
CMD ["--watch", "--watch-preserve-output", "main.mjs"]

# Node and the C library: no shell, no package manager, no compiler. Its entry point is node.
FROM gcr.io/distroless/nodejs${NODE}-debian12:nonroot AS final
ARG NODE
ARG SERVICE=all
ARG VERSION=0.1.0
ARG REVISION=unknown
LABEL org.opencontainers.image.title="commonplace-${SERVICE}" \
      org.opencontainers.image.description="Commonplace, a workspace and knowledge platform behind one HTTP API: ${SERVICE}" \
      org.opencontainers.image.version="${VERSION}" \
      org.opencontainers.image.revision="${REVISION}" \
      org.opencontainers.image.licenses="Apache-2.0" \
      org.opencontainers.image.base.name="gcr.io/distroless/nodejs${NODE}-debian12:nonroot"
COPY --from=build /out /app
# A new volume takes its owner from here.
COPY --from=build --chown=65532:65532 /data /data
WORKDIR /app
ENV NODE_ENV=production
USER 65532:65532
EXPOSE 8080 9090
CMD ["main.mjs"]
