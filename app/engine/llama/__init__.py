"""llama-cpp-python's low-level API as a backend; the only importer of llama_cpp, inside the worker only."""
