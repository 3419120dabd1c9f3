# syntax=docker/dockerfile:1
# MOSAIC in a container, for a processor alone or for NVIDIA GPUs (docs/installing.md has the commands that run it):
#   docker build -t mosaic .
#   docker build -t mosaic:cuda --build-arg TORCH=cuda .
# Every version is that of constraints.txt.
FROM python:3.11-slim-bookworm
# What draws without a display: OSMesa for MuJoCo, and what pygame and OpenCV link with. ssh is for --engine ssh.
RUN apt-get update \
 && apt-get install -y --no-install-recommends libegl1 libgl1 libglib2.0-0 libosmesa6 openssh-client tini \
 && rm -rf /var/lib/apt/lists/*
RUN python -m pip install --no-cache-dir uv==0.13.8

ARG EXTRAS=atari,box2d,browser,mcp,minigrid,mujoco,onnx,plots,sweep
# cpu: torch's own build without CUDA. cuda: the build of the package index, which brings CUDA; the machine has the driver.
ARG TORCH=cpu
WORKDIR /src
COPY pyproject.toml constraints.txt README.md LICENSE ./
COPY docs docs
COPY src src
RUN case "$TORCH" in cpu) backend=--torch-backend=cpu ;; cuda) backend= ;; *) echo "TORCH is cpu or cuda"; exit 2 ;; esac \
 && uv pip install --system --no-cache --compile-bytecode $backend --constraint constraints.txt ".[$EXTRAS]"

RUN useradd --create-home --uid 1000 mosaic && mkdir /runs && chown mosaic /runs
USER mosaic
WORKDIR /home/mosaic
ENV MOSAIC_HOME=/runs
VOLUME /runs
# tini reaps what workers leave behind: a container has no init of its own.
ENTRYPOINT ["tini", "-g", "--", "mosaic"]
CMD ["--help"]
