//! AMD's GPUs through HIP: the data that `compute-cuda-hip` needs, and nothing that decides.
