//! NVIDIA's GPUs through CUDA's driver: the data that `compute-cuda-hip` needs, and nothing that decides.
