import { includes } from "../../ffi/generate/clang.ts";
import type { FunctionEntry, Library } from "../../ffi/generate/library.ts";
import { functionName } from "../../ffi/generate/read/cxx/names.ts";
import { type Assertion, compileHere } from "./checker.ts";

/** A listed C++ function and what the committed table says of it. */
export interface Listed {
  /** What TypeScript calls it. */
  readonly name: string;
  /** Its list entry. */
  readonly entry: FunctionEntry;
  /** Its row of the table. */
  readonly symbol: Deno.ForeignFunction;
}

/** The rows of a table with their list entries. */
export function listed(library: Library, table: Readonly<Record<string, Deno.ForeignFunction>>): Listed[] {
  return library.functions.map((item) => {
    const entry = typeof item === "string" ? { name: item } : item;
    const name = entry.as ?? functionName(entry.name, library.cxx!);
    return { name, entry, symbol: table[name] };
  });
}

/** The headers of this folder, as text. */
export async function headers(...names: readonly string[]): Promise<string> {
  const texts = names.map((name) => Deno.readTextFile(new URL(name, import.meta.url)));
  return (await Promise.all(texts)).join("\n");
}

/** That a function is as its row says, by the compiler's deduction of its type. */
export function signatureAssertion({ name, entry, symbol }: Listed): Assertion {
  const natives = [symbol.result, ...symbol.parameters].map((type) =>
    `FFI_${String(type).replace("size", "64").toUpperCase()}`
  );
  const { type, parameters, isConstructor, isDestructor } = parts(entry);
  const ofRow = (signature: string) => `is(${signature}, {${natives.join(", ")}})`;
  if (isConstructor || isDestructor) {
    const signature = `(void (*)(${[`${type} *`, ...parameters].join(", ")})) nullptr`;
    const exists = isDestructor ? "true" : `std::is_constructible<${[type, ...parameters].join(", ")}>::value`;
    return { name, condition: `${exists} && ${ofRow(signature)}` };
  }
  const flat = `flat(${pointer(entry)})`;
  return { name, condition: ofRow(entry.sret ? `sret(${flat})` : flat) };
}

/** The words of g++'s assembly code for a use of each function: its symbol has to be among them. */
export async function manglings(library: Library, functions: readonly Listed[]): Promise<Set<string>[]> {
  const uses = functions.map(({ entry }, i) => `extern "C" { ${use(entry, `claim_${i}`)} }\n`);
  const file = await Deno.makeTempFile({ suffix: ".txt" });
  try {
    await Deno.writeTextFile(file, includes(library) + await headers("overload.hpp") + uses.join(""));
    const assembly = await compileHere(library, ["-O1", "-S", "-o", "-", file]);
    return functions.map((_, i) => {
      const [, own = ""] = assembly.match(new RegExp(`^claim_${i}:\n(.*?)^\t\\.(size|globl|weak|section)`, "ms")) ?? [];
      return new Set(own.match(/\w+/g));
    });
  } finally {
    await Deno.remove(file);
  }
}

/** C++ that makes a compiler refer to a function. */
function use(entry: FunctionEntry, name: string): string {
  const { type, parameters, isConstructor, isDestructor, last } = parts(entry);
  if (isDestructor) return `void ${name}(${type} *object) { object->${type}::${last}(); }`;
  if (!isConstructor) return `auto ${name} = ${pointer(entry)};`;
  const taken = parameters.map((parameter, i) => `${parameter} a${i}`);
  const passed = parameters.map((_, i) => `a${i}`);
  return `void ${name}(${["void *memory", ...taken].join(", ")}) { new (memory) ${type}(${passed.join(", ")}); }`;
}

/** A C++ expression for the address of a function. */
function pointer({ name, parameters }: FunctionEntry): string {
  return parameters === undefined ? `&${name}` : `Overload<${parameters.join(", ")}>{}(&${name})`;
}

function parts({ name, parameters = [] }: FunctionEntry) {
  const [type, last] = [name.slice(0, name.lastIndexOf("::")), name.slice(name.lastIndexOf("::") + 2)];
  const isConstructor = type.endsWith(`::${last}`);
  return { type, last, parameters, isConstructor, isDestructor: last.startsWith("~") };
}
