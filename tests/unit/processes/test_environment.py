"""What engine processes inherit, and what not."""

from app.processes.environment import engine_environment


def test_options_proxies_and_python_switches_are_not_inherited() -> None:
    kept = engine_environment(
        {
            "LLAMA_ARG_CTX_SIZE": "1",
            "llama_arg_model": "x",
            "GGML_VK_VISIBLE_DEVICES": "3",
            "HF_TOKEN": "secret",
            "http_proxy": "http://p",
            "HTTPS_PROXY": "http://p",
            "No_Proxy": "*",
            "PYTHONSTARTUP": "x",
            "PYTHONINSPECT": "1",
        }
    )
    assert kept == {"GGML_NO_BACKTRACE": "1", "PYTHONUTF8": "1", "CUDA_DEVICE_ORDER": "PCI_BUS_ID"}


def test_what_drivers_and_the_system_need_stays() -> None:
    base = {
        "PATH": "/bin",
        "HOME": "/home/名",
        "SystemRoot": "C:\\Windows",
        "TEMP": "C:\\T",
        "CUDA_VISIBLE_DEVICES": "1",
        "LD_LIBRARY_PATH": "/usr/local/cuda/lib64",
        "VK_ICD_FILENAMES": "icd.json",
        "MOXIE_HOME": "/data",
        "PYTHONPATH": "/site",
    }
    assert engine_environment(base).items() >= base.items()


def test_a_frozen_programs_library_path_is_undone() -> None:
    kept = engine_environment({"LD_LIBRARY_PATH": "/tmp/_MEI", "LD_LIBRARY_PATH_ORIG": "/cuda"})
    assert kept["LD_LIBRARY_PATH"] == "/cuda"
    assert "LD_LIBRARY_PATH_ORIG" not in kept


def test_cuda_counts_in_the_order_of_the_bus_unless_an_inherited_list_counts_otherwise() -> None:
    by_name = {"CUDA_VISIBLE_DEVICES": "GPU-bbbb"}
    by_number = {"CUDA_VISIBLE_DEVICES": "1,0"}
    chosen = {"CUDA_DEVICE_ORDER": "FASTEST_FIRST"}
    assert engine_environment(by_name)["CUDA_DEVICE_ORDER"] == "PCI_BUS_ID"
    assert "CUDA_DEVICE_ORDER" not in engine_environment(by_number)
    assert engine_environment(by_number)["CUDA_VISIBLE_DEVICES"] == "1,0"
    assert engine_environment(chosen)["CUDA_DEVICE_ORDER"] == "FASTEST_FIRST"
