# Ambulo on a CPU: all commands but the Godot engine, as a user without rights.
#   docker build -t ambulo .
#   docker run --rm -v "$PWD/runs:/home/ambulo/runs" ambulo train vr --preset first_run
# Other extras: --build-arg EXTRAS=train,ray. Smaller, without CUDA: --build-arg TORCH_INDEX=ADDRESS,
# PyTorch's index of CPU builds.
FROM python:3.11-slim AS build
ARG EXTRAS=train
ARG TORCH_INDEX=
ENV PIP_DISABLE_PIP_VERSION_CHECK=1 PIP_NO_CACHE_DIR=1
RUN python -m venv /opt/ambulo
ENV PATH=/opt/ambulo/bin:$PATH
WORKDIR /src
# Pinned packages first: they stay in the build cache while the code changes.
COPY requirements.lock ./
RUN pip install ${TORCH_INDEX:+--index-url "$TORCH_INDEX"} "$(grep -m 1 '^torch==' requirements.lock)"
COPY . .
RUN pip install --constraint requirements.lock ".[$EXTRAS]" ./models

FROM python:3.11-slim
# EGL draws films without a screen.
RUN apt-get update \
    && apt-get install --no-install-recommends -y libegl1 libgl1 \
    && rm -rf /var/lib/apt/lists/* \
    && useradd --create-home --uid 1000 ambulo
COPY --from=build /opt/ambulo /opt/ambulo
ENV PATH=/opt/ambulo/bin:$PATH MUJOCO_GL=egl NUMBA_CACHE_DIR=/home/ambulo/.cache/numba
USER ambulo
WORKDIR /home/ambulo
ENTRYPOINT ["ambulo"]
CMD ["doctor"]
