"""What the two commands say, in English and Chinese; they run before anything else is installed."""

import locale
import os
import sys
from collections.abc import Mapping
from typing import Final

WORDS: Final[Mapping[str, tuple[str, str]]] = {
    "environment": (
        "Making a Python environment in {folder} ...",
        "正在 {folder} 中创建 Python 环境……",
    ),
    "venv_package": (
        "Installing Debian's python3-venv ...",
        "正在安装 Debian 的 python3-venv……",
    ),
    "packages": (
        "Installing the Python packages of {lock} ...",
        "正在安装 {lock} 中的 Python 软件包……",
    ),
    "system_packages": (
        "Installing system packages: {names} ...",
        "正在安装系统软件包：{names}……",
    ),
    "download": (
        "Downloading {name} {version} ...",
        "正在下载 {name} {version}……",
    ),
    "engine": (
        "Installing and testing the engine {name} ...",
        "正在安装并测试引擎 {name}……",
    ),
    "no_engine_pack": (
        "There is no ready-made engine for this kind of machine ({machine}); it needs the built-in worker.",
        "没有适用于此类机器（{machine}）的现成引擎，需要使用内置引擎。",
    ),
    "model": (
        "Making the default model: 8 experts, 447 MB ...",
        "正在生成默认模型：8 个专家，447 MB……",
    ),
    "worker_build": (
        "A compiler is here: the built-in worker is being built in the background. Log: {log}",
        "检测到编译器：正在后台编译内置引擎。日志：{log}",
    ),
    "worker_install": (
        "Installing the built-in worker that was built earlier ...",
        "正在安装之前编译好的内置引擎……",
    ),
    "build_compiling": (
        "Building the worker's engine once; this takes some minutes. Log: {log}",
        "正在编译内置引擎，仅需一次，需要几分钟。日志：{log}",
    ),
    "assets": (
        "Making the models the tests use ...",
        "正在生成测试用的模型……",
    ),
    "check": (
        "Check: {name} ...",
        "检查：{name}……",
    ),
    "tests": (
        "Running the tests ...",
        "正在运行测试……",
    ),
    "ready": (
        "Ready.",
        "一切就绪。",
    ),
    "windows_python": (
        "Putting a Windows Python {version} together ...",
        "正在组装 Windows 版 Python {version}……",
    ),
    "wine_system": (
        "Installing Wine into a Debian {suite} of its own, below .cache; this takes a minute or two ...",
        "正在 .cache 中的独立 Debian {suite} 系统里安装 Wine，需要一两分钟……",
    ),
    "wine_ready": (
        "Windows Python {python} under Wine {version} is ready.",
        "Wine {version} 下的 Windows 版 Python {python} 已就绪。",
    ),
    "old_wine": (
        "This machine can only have Wine {version}. It lacks parts of Windows 10: a window cannot be "
        "checked with it, programs without one can.",
        "本机只能使用 Wine {version}，它缺少 Windows 10 的部分功能：无法检查窗口，只能检查无窗口的程序。",
    ),
    "windows_tests": (
        "Running the tests of the Windows side under Wine {version} ...",
        "正在 Wine {version} 下运行 Windows 部分的测试……",
    ),
    "windows_tests_done": (
        "The tests under Wine took {seconds} s.",
        "Wine 下的测试用时 {seconds} 秒。",
    ),
    "need_python_311": (
        "The Windows Python takes its standard library from the Python that runs this, which must be 3.11 "
        "and is {version}. Run this with python3.11.",
        "Windows 版 Python 使用运行本脚本的 Python 的标准库，必须是 3.11，当前为 {version}。"
        "请用 python3.11 运行。",
    ),
    "need_windows_tools": (
        "Tools to check the Windows side are missing. Install them, then run this again: {command}",
        "缺少检查 Windows 部分所需的工具。请先安装，再重新运行本命令：{command}",
    ),
    "no_wine": (
        "Wine is installed and does not run. Log in .cache/setup.log; run `wine --version` to see why.",
        "Wine 已安装，但无法运行。请运行 `wine --version` 查看原因，日志见 .cache/setup.log。",
    ),
    "not_signed": (
        "{file} bears no valid signature of Python's makers, so nothing of the download was used.",
        "{file} 没有 Python 官方的有效签名，已弃用下载的文件。",
    ),
    "not_locked": (
        "{lock} has no entry for {names}. Make it again: python build_scripts/lock.py",
        "{lock} 中没有 {names}。请重新生成：python build_scripts/lock.py",
    ),
    "how_to_chat": (
        "To chat, run this command in a terminal, or: {command} chat MODEL.gguf",
        "要聊天，请在终端中运行本命令，或运行：{command} chat MODEL.gguf",
    ),
    "demo": (
        "One question to the default model: {prompt}",
        "向默认模型提一个问题：{prompt}",
    ),
    "need_venv": (
        "Python's venv module is missing. Install it, then run this again: "
        "sudo apt-get install -y python3-venv",
        "缺少 Python 的 venv 模块。请先安装，再重新运行本命令：sudo apt-get install -y python3-venv",
    ),
    "need_compiler": (
        "The tests build an engine and need a C++ compiler. Install one, then run this again: {command}",
        "测试需要编译引擎，缺少 C++ 编译器。请先安装，再重新运行本命令：{command}",
    ),
    "no_network": (
        "The download failed because the network or the package index cannot be reached. "
        "Check the connection and run this again. Log: {log}",
        "无法连接网络或软件包索引，下载失败。请检查网络后重新运行。日志：{log}",
    ),
    "no_space": (
        "The disk of {folder} is too full: {needed} MB are needed, {free} MB are free. "
        "Free some space and run this again.",
        "{folder} 所在磁盘空间不足：需要 {needed} MB，剩余 {free} MB。请腾出空间后重新运行。",
    ),
    "disk_full": (
        "The disk is full. Free some space and run this again. Log: {log}",
        "磁盘已满。请腾出空间后重新运行。日志：{log}",
    ),
    "wrong_hash": (
        "A download is not the file it should be, so nothing of it was used. "
        "Run this again, and report it if it stays so. Log: {log}",
        "下载的文件与预期不符，已弃用。请重新运行；如仍出现，请反馈。日志：{log}",
    ),
    "step_failed": (
        "This step failed: {detail} Log: {log}",
        "此步骤失败：{detail} 日志：{log}",
    ),
    "cannot_write": (
        "{path} cannot be written: {detail}. Make the folder writable and run this again.",
        "无法写入 {path}：{detail}。请将该文件夹设为可写后重新运行。",
    ),
    "cannot_start": (
        "{program} cannot be started: {detail}.",
        "无法启动 {program}：{detail}。",
    ),
    "check_failed": (
        "{name} found something; see above.",
        "{name} 发现问题，见上文。",
    ),
    "interrupted": (
        "Interrupted. Run this again to go on.",
        "已中断。再次运行即可继续。",
    ),
}
"""Key -> (English, Chinese)."""


def say(key: str, **values: object) -> str:
    """Return the sentence for `key` in the system's language."""
    english, chinese = WORDS[key]
    return (chinese if speaks_chinese() else english).format(**values)


def speaks_chinese() -> bool:
    """Return whether the person's system is set to Chinese."""
    for variable in ("LC_ALL", "LC_MESSAGES", "LANG"):
        if value := os.environ.get(variable):
            return value.lower().startswith("zh")
    if sys.platform == "win32":
        import ctypes

        name = locale.windows_locale.get(ctypes.windll.kernel32.GetUserDefaultUILanguage(), "")
        return name.startswith("zh")
    return False
