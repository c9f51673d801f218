/* python.exe for the Windows Python of windows_python.py: hands its arguments to the library beside it. */
#include <stdio.h>
#include <windows.h>

typedef int (*python_main)(int, wchar_t **);

int wmain(int argc, wchar_t **argv)
{
    HMODULE library = LoadLibraryW(L"python311.dll");
    if (library == NULL) {
        fprintf(stderr, "python311.dll cannot be loaded: error %lu\n", GetLastError());
        return 99;
    }
    python_main run = (python_main)(void *)GetProcAddress(library, "Py_Main");
    return run == NULL ? 99 : run(argc, argv);
}
