/** The image itself, as binutils read it: what a loader, an unwinder and a debugger will make of it. */
import { assert, assertEquals } from "@std/assert";
import { guardImage } from "../../src/guard/image.ts";
import { guardTest } from "./cxx.ts";

const TARGETS = [0, 1, 2, 7].map((onStack) => ({ name: `with${onStack}`, address: 0x1122334455667788n, onStack }));

/** What a tool prints of an image. It must have nothing to complain of. */
async function shown(tool: string, ...args: string[]): Promise<string> {
  const file = await Deno.makeTempFile({ suffix: ".so" });
  try {
    await Deno.writeFile(file, guardImage("samepage-guard-test.so", TARGETS));
    const { success, stdout, stderr } = await new Deno.Command(tool, { args: [...args, file] }).output();
    const text = new TextDecoder();
    assertEquals([text.decode(stderr), success], ["", true]);
    return text.decode(stdout);
  } finally {
    await Deno.remove(file);
  }
}

guardTest("readelf reads all of an image, and finds nothing wrong", async () => {
  const text = await shown("readelf", "--all", "--wide");
  for (
    const part of [
      /DYN \(Shared object file\)/,
      /SONAME\)\s+Library soname: \[samepage-guard-test\.so\]/,
      /NEEDED\)\s+Shared library: \[libstdc\+\+\.so\.6\]/,
      /R_X86_64_64\s+0+ __gxx_personality_v0 \+ 0/,
      /R_X86_64_64\s+0+ _ZTISt9exception \+ 0/,
      /R_X86_64_DTPMOD64/,
      /FUNC\s+GLOBAL DEFAULT\s+4 with7/,
      /GNU_STACK\s+\S+ \S+ \S+ \S+ \S+ RW /,
      /GNU_RELRO/,
      /GNU_EH_FRAME/,
    ]
  ) assert(part.test(text), `${part} in:\n${text}`);
  assert(!/warning/i.test(text));
  assertEquals(text.match(/LOAD .* (R|RW|R E|RWE) +0x1000$/gm)?.length, 4);
  assert(!text.includes("RWE"));
});

guardTest("objdump disassembles the thunks to the instructions that their comments name", async () => {
  const text = await shown("objdump", "--disassemble", "--disassembler-options=intel", "--no-show-raw-insn");
  const functions = text.split(/^\w+ <(?=\w+>:)/m).slice(1).map((part) =>
    part.split("\n").slice(1).map((line) => line.split("\t")[1]?.replace(/\s+/g, " ").replace(/ # .*/, "").trim())
      .filter((line) => line !== undefined && line !== "int3")
  );
  const body = (...copies: string[]) => [
    ...["push rbp", "mov rbp,rsp", ...copies, "movabs r11,0x1122334455667788", "call r11", "leave", "ret"],
    ...["push rax", "push rdx", "lea rdi,[rip+…]", "call QWORD PTR [rip+…]"],
    ...["pop QWORD PTR [rax]", "pop QWORD PTR [rax+0x8]", "xor eax,eax", "leave", "ret"],
  ];
  const copy = (n: number) => `push QWORD PTR [rbp+0x${(16 + 8 * n).toString(16)}]`;
  assertEquals(functions.map((lines) => lines.map((line) => line!.replace(/\[rip\+0x\w+\]/, "[rip+…]"))), [
    body(),
    body("sub rsp,0x8", copy(0)),
    body(copy(1), copy(0)),
    body("sub rsp,0x8", ...[6, 5, 4, 3, 2, 1, 0].map(copy)),
    ["lea rdi,[rip+…]", "jmp QWORD PTR [rip+…]"],
  ]);
});

guardTest("the frame tables say of each instruction where the caller's frame is", async () => {
  const text = await shown("readelf", "--debug-dump=frames-interp", "--wide");
  const tables = text.split(/FDE cie=/).slice(1).map((part) =>
    [...part.matchAll(/^[0-9a-f]{16} (\w+\+\d+)\s+(\S+)\s+c-8/gm)].map(([, cfa, rbp]) => [cfa, rbp])
  );
  const rows = [
    ...[["rsp+8", "u"], ["rsp+16", "c-16"], ["rbp+16", "c-16"]],
    ...[["rsp+8", "c-16"], ["rbp+16", "c-16"], ["rsp+8", "c-16"]],
  ];
  assertEquals(tables, TARGETS.map(() => rows));
});
