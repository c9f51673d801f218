"""Machine code of x86-64 that uses one instruction set each, byte by byte and by name.

Every program returns 42, worked out with the very instructions it is about: one that the processor lacks
ends the process (`SIGILL`, 0xC000001D), and one that an emulation gets wrong gives another number. They
change only registers that a function may change by the rules of Linux and of Windows, and no memory but what
`rcx` points to: the fourth argument on Linux, the first on Windows.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

ANSWER: Final = 42


@dataclass(frozen=True, slots=True)
class MachineProgram:
    """A function in machine code.

    Attributes:
        name: Of the instruction set, as Linux calls it.
        steps: (bytes in hexadecimal, the instruction as an assembler takes it).
        needs: The instruction set without which there is no need to try.
    """

    name: str
    steps: tuple[tuple[str, str], ...]
    needs: str | None = None

    @property
    def code(self) -> bytes:
        """The bytes to run."""
        return bytes.fromhex("".join(step[0] for step in self.steps))


def tile_argument() -> bytes:
    """Return what AMX programs work on: 64 bytes of shapes, 4 to store to, 4 to load, the number 42."""
    shapes = bytearray(64)
    shapes[0] = 1  # the only layout there is
    for tile in range(3):
        shapes[16 + 2 * tile] = 4  # bytes of a row
        shapes[48 + tile] = 1  # rows
    return bytes(shapes) + bytes(8) + ANSWER.to_bytes(4, "little")


def programs() -> Iterator[MachineProgram]:
    """Yield all programs; each comes after the one it needs."""
    yield from BASIC
    yield from AVX512
    yield from AMX


NOTHING: Final = MachineProgram(
    "nothing",
    # nothing but a number: works on any processor, or no such code can be run at all
    steps=(
        ("b82a000000", "mov eax, 42"),
        ("c3", "ret"),
    ),
)

BASIC: Final = (
    MachineProgram(
        "avx",
        # 2 x 21.0, in the upper half of a 256-bit register
        steps=(
            ("b80000a841", "mov eax, 0x41a80000"),  # 21.0 as float32
            ("c5f96ec0", "vmovd xmm0, eax"),  # into lane 0
            ("c5f8c6c000", "vshufps xmm0, xmm0, xmm0, 0"),  # into lanes 0 to 3
            ("c4e37d18c001", "vinsertf128 ymm0, ymm0, xmm0, 1"),  # and into the upper half
            ("c5fc58c0", "vaddps ymm0, ymm0, ymm0"),  # 42.0 in all eight lanes
            ("c4e37d19c001", "vextractf128 xmm0, ymm0, 1"),  # the upper half's
            ("c5fa2cc0", "vcvttss2si eax, xmm0"),  # as a whole number
            ("c5f877", "vzeroupper"),  # back to 128 bits, as callers expect it
            ("c3", "ret"),
        ),
    ),
    MachineProgram(
        "f16c",
        needs="avx",
        # 21.0 from half precision, doubled
        steps=(
            ("b8404d0000", "mov eax, 0x4d40"),  # 21.0 as float16
            ("c5f96ec0", "vmovd xmm0, eax"),  # into lane 0
            ("c4e27913c0", "vcvtph2ps xmm0, xmm0"),  # as float32
            ("c5fa58c0", "vaddss xmm0, xmm0, xmm0"),  # 42.0
            ("c5fa2cc0", "vcvttss2si eax, xmm0"),  # as a whole number
            ("c3", "ret"),
        ),
    ),
    MachineProgram(
        "fma",
        needs="avx",
        # 6.0 x 6.0 + 6.0 in one step
        steps=(
            ("b80000c040", "mov eax, 0x40c00000"),  # 6.0 as float32
            ("c5f96ec0", "vmovd xmm0, eax"),  # into lane 0
            ("c4e279a9c0", "vfmadd213ss xmm0, xmm0, xmm0"),  # 42.0
            ("c5fa2cc0", "vcvttss2si eax, xmm0"),  # as a whole number
            ("c3", "ret"),
        ),
    ),
    MachineProgram(
        "avx2",
        needs="avx",
        # 2 x 21 in whole numbers, in the upper half of a 256-bit register
        steps=(
            ("b815000000", "mov eax, 21"),
            ("c5f96ec0", "vmovd xmm0, eax"),  # into lane 0
            ("c4e27d58c0", "vpbroadcastd ymm0, xmm0"),  # into all eight lanes
            ("c5fdfec0", "vpaddd ymm0, ymm0, ymm0"),  # 42 in all eight
            ("c4e37d39c001", "vextracti128 xmm0, ymm0, 1"),  # the upper half's
            ("c5f97ec0", "vmovd eax, xmm0"),
            ("c5f877", "vzeroupper"),  # back to 128 bits, as callers expect it
            ("c3", "ret"),
        ),
    ),
    MachineProgram(
        "bmi2",
        # bits spread to where a mask has ones, and gathered again
        steps=(
            ("b82a000000", "mov eax, 42"),
            ("b900ff0000", "mov ecx, 0xff00"),  # where they go
            ("c4e27bf5c1", "pdep eax, eax, ecx"),  # 0x2a00
            ("c4e27af5c1", "pext eax, eax, ecx"),  # 42 again
            ("c3", "ret"),
        ),
    ),
    MachineProgram(
        "avx_vnni",
        needs="avx2",
        # 2 + the sum of four products 2 x 5, in the short encoding
        steps=(
            ("b802020202", "mov eax, 0x02020202"),  # four bytes of 2
            ("c5f96ec8", "vmovd xmm1, eax"),  # into xmm1
            ("b805050505", "mov eax, 0x05050505"),  # four bytes of 5
            ("c5f96ed0", "vmovd xmm2, eax"),  # into xmm2
            ("b802000000", "mov eax, 2"),  # the sum begins with 2
            ("c5f96ec0", "vmovd xmm0, eax"),  # into xmm0
            ("c4e27150c2", "{vex} vpdpbusd xmm0, xmm1, xmm2"),  # 2 + 4 x 10
            ("c5f97ec0", "vmovd eax, xmm0"),
            ("c3", "ret"),
        ),
    ),
)

AVX512: Final = (
    MachineProgram(
        "avx512f",
        needs="avx2",
        # 2 x 21 in the last quarter of a 512-bit register
        steps=(
            ("b815000000", "mov eax, 21"),
            ("62f27d487cc0", "vpbroadcastd zmm0, eax"),  # into all 16 lanes
            ("62f17d48fec0", "vpaddd zmm0, zmm0, zmm0"),  # 42 in all 16
            ("62f37d4839c003", "vextracti32x4 xmm0, zmm0, 3"),  # the last quarter's
            ("c5f97ec0", "vmovd eax, xmm0"),
            ("c5f877", "vzeroupper"),  # back to 128 bits, as callers expect it
            ("c3", "ret"),
        ),
    ),
    MachineProgram(
        "avx512dq",
        needs="avx512f",
        # 6 x 7 in whole numbers of 64 bits
        steps=(
            ("b806000000", "mov eax, 6"),
            ("62f2fd487cc0", "vpbroadcastq zmm0, rax"),  # into all eight lanes
            ("b807000000", "mov eax, 7"),
            ("62f2fd487cc8", "vpbroadcastq zmm1, rax"),  # into all eight lanes
            ("62f2fd4840c1", "vpmullq zmm0, zmm0, zmm1"),  # 42 in all eight
            ("62f3fd4839c003", "vextracti64x2 xmm0, zmm0, 3"),  # the last quarter's
            ("c5f97ec0", "vmovd eax, xmm0"),
            ("c5f877", "vzeroupper"),  # back to 128 bits, as callers expect it
            ("c3", "ret"),
        ),
    ),
    MachineProgram(
        "avx512bw",
        needs="avx512f",
        # 2 x 21 in 64 lanes of bytes
        steps=(
            ("b815000000", "mov eax, 21"),
            ("62f27d487ac0", "vpbroadcastb zmm0, eax"),  # into all 64 lanes
            ("62f17d48fcc0", "vpaddb zmm0, zmm0, zmm0"),  # 42 in all 64
            ("62f37d4839c003", "vextracti32x4 xmm0, zmm0, 3"),  # the last quarter's
            ("c5f97ec0", "vmovd eax, xmm0"),
            ("0fb6c0", "movzx eax, al"),  # of its four bytes one
            ("c5f877", "vzeroupper"),  # back to 128 bits, as callers expect it
            ("c3", "ret"),
        ),
    ),
    MachineProgram(
        "avx512vl",
        needs="avx512f",
        # 2 x 21 in a 256-bit register that only AVX-512 has
        steps=(
            ("b815000000", "mov eax, 21"),
            ("62e27d287cc0", "vpbroadcastd ymm16, eax"),  # into all eight lanes
            ("62a17d20fec0", "vpaddd ymm16, ymm16, ymm16"),  # 42 in all eight
            ("62e37d2839c001", "vextracti32x4 xmm0, ymm16, 1"),  # the upper half's
            ("c5f97ec0", "vmovd eax, xmm0"),
            ("c5f877", "vzeroupper"),  # back to 128 bits, as callers expect it
            ("c3", "ret"),
        ),
    ),
    MachineProgram(
        "avx512vbmi",
        needs="avx512bw",
        # bytes looked up in a table of 64
        steps=(
            ("b83f000000", "mov eax, 63"),  # the last place
            ("62f27d487ac0", "vpbroadcastb zmm0, eax"),  # asked for in all 64 lanes
            ("b82a000000", "mov eax, 42"),
            ("62f27d487ac8", "vpbroadcastb zmm1, eax"),  # in all places of the table
            ("62f27d488dc1", "vpermb zmm0, zmm0, zmm1"),  # 42 in all 64 lanes
            ("c5f97ec0", "vmovd eax, xmm0"),
            ("0fb6c0", "movzx eax, al"),  # of its four bytes one
            ("c5f877", "vzeroupper"),  # back to 128 bits, as callers expect it
            ("c3", "ret"),
        ),
    ),
    MachineProgram(
        "avx512_vnni",
        needs="avx512f",
        # 2 + the sum of four products 2 x 5, in 16 lanes
        steps=(
            ("b802020202", "mov eax, 0x02020202"),  # four bytes of 2
            ("62f27d487cc8", "vpbroadcastd zmm1, eax"),  # into all 16 lanes
            ("b805050505", "mov eax, 0x05050505"),  # four bytes of 5
            ("62f27d487cd0", "vpbroadcastd zmm2, eax"),  # into all 16 lanes
            ("b802000000", "mov eax, 2"),  # the sum begins with 2
            ("62f27d487cc0", "vpbroadcastd zmm0, eax"),  # in all 16 lanes
            ("62f2754850c2", "vpdpbusd zmm0, zmm1, zmm2"),  # 2 + 4 x 10
            ("62f37d4839c003", "vextracti32x4 xmm0, zmm0, 3"),  # the last quarter's
            ("c5f97ec0", "vmovd eax, xmm0"),
            ("c5f877", "vzeroupper"),  # back to 128 bits, as callers expect it
            ("c3", "ret"),
        ),
    ),
    MachineProgram(
        "avx512_bf16",
        needs="avx512f",
        # 3.0 x 7.0 + 3.0 x 7.0 from bfloat16
        steps=(
            ("b840404040", "mov eax, 0x40404040"),  # two bfloat16 of 3.0
            ("62f27d487cc8", "vpbroadcastd zmm1, eax"),  # into all 16 lanes
            ("b8e040e040", "mov eax, 0x40e040e0"),  # two of 7.0
            ("62f27d487cd0", "vpbroadcastd zmm2, eax"),  # into all 16 lanes
            ("62f17d48efc0", "vpxord zmm0, zmm0, zmm0"),  # the sum begins with 0
            ("62f2764852c2", "vdpbf16ps zmm0, zmm1, zmm2"),  # 42.0 in all 16 lanes
            ("62f37d4839c003", "vextracti32x4 xmm0, zmm0, 3"),  # the last quarter's
            ("c5fa2cc0", "vcvttss2si eax, xmm0"),  # as a whole number
            ("c5f877", "vzeroupper"),  # back to 128 bits, as callers expect it
            ("c3", "ret"),
        ),
    ),
)

AMX: Final = (
    MachineProgram(
        "amx_tile",
        # a tile of one value loaded and stored
        steps=(
            ("ba40000000", "mov edx, 64"),  # length of a row, of which there is one
            ("c4e2784901", "ldtilecfg [rcx]"),  # the tiles' shapes
            ("c4e27b4b4c1148", "tileloadd tmm1, [rcx+rdx*1+72]"),  # the argument's 42
            ("c4e27a4b4c1140", "tilestored [rcx+rdx*1+64], tmm1"),  # stored at its scratch place
            ("8b4140", "mov eax, [rcx+64]"),  # and read
            ("c4e27849c0", "tilerelease"),  # tiles are not in use any more
            ("c3", "ret"),
        ),
    ),
    MachineProgram(
        "amx_int8",
        needs="amx_tile",
        # 2 + the sum of four products 2 x 5, of tiles
        steps=(
            ("ba40000000", "mov edx, 64"),  # length of a row, of which there is one
            ("c4e2784901", "ldtilecfg [rcx]"),  # the tiles' shapes
            ("b802020202", "mov eax, 0x02020202"),  # four bytes of 2
            ("894140", "mov [rcx+64], eax"),
            ("c4e27b4b4c1140", "tileloadd tmm1, [rcx+rdx*1+64]"),  # into tile 1
            ("b805050505", "mov eax, 0x05050505"),  # four bytes of 5
            ("894144", "mov [rcx+68], eax"),
            ("c4e27b4b541144", "tileloadd tmm2, [rcx+rdx*1+68]"),  # into tile 2
            ("b802000000", "mov eax, 2"),  # the sum begins with 2
            ("894140", "mov [rcx+64], eax"),
            ("c4e27b4b441140", "tileloadd tmm0, [rcx+rdx*1+64]"),  # in tile 0
            ("c4e2695ec1", "tdpbusd tmm0, tmm1, tmm2"),  # 2 + 4 x 10
            ("c4e27a4b441140", "tilestored [rcx+rdx*1+64], tmm0"),
            ("8b4140", "mov eax, [rcx+64]"),
            ("c4e27849c0", "tilerelease"),  # tiles are not in use any more
            ("c3", "ret"),
        ),
    ),
    MachineProgram(
        "amx_bf16",
        needs="amx_tile",
        # 3.0 x 7.0 + 3.0 x 7.0 from bfloat16, of tiles
        steps=(
            ("ba40000000", "mov edx, 64"),  # length of a row, of which there is one
            ("c4e2784901", "ldtilecfg [rcx]"),  # the tiles' shapes
            ("b840404040", "mov eax, 0x40404040"),  # two bfloat16 of 3.0
            ("894140", "mov [rcx+64], eax"),
            ("c4e27b4b4c1140", "tileloadd tmm1, [rcx+rdx*1+64]"),  # into tile 1
            ("b8e040e040", "mov eax, 0x40e040e0"),  # two of 7.0
            ("894144", "mov [rcx+68], eax"),
            ("c4e27b4b541144", "tileloadd tmm2, [rcx+rdx*1+68]"),  # into tile 2
            ("c4e27b49c0", "tilezero tmm0"),  # the sum begins with 0
            ("c4e26a5cc1", "tdpbf16ps tmm0, tmm1, tmm2"),  # 42.0
            ("c4e27a4b441140", "tilestored [rcx+rdx*1+64], tmm0"),
            ("f30f2c4140", "cvttss2si eax, dword ptr [rcx+64]"),  # as a whole number
            ("c4e27849c0", "tilerelease"),  # tiles are not in use any more
            ("c3", "ret"),
        ),
    ),
)
