import type { Library } from "../library.ts";
import type { ForeignFunction, Model } from "../model.ts";

/** `functions.ts`: the same functions with C's parameter names and our types. */
export function functions(library: Library, model: Model): string {
  if (model.functions.length === 0) return "";
  const cast = library.byPointer ? "Their `call`s are" : "`Deno.dlopen(path, SYMBOLS).symbols` is";
  return `
/** The functions of \`SYMBOLS\`, ${
    library.cxx ? "with C++'s names of their parameters" : "with C's names and the handles told apart"
  }. ${cast} cast to it. */
export interface ${library.interface} {
${model.functions.map(member).join("\n\n")}
}
`;
}

function member({ name, entry, prototype, parameters, result }: ForeignFunction): string {
  const list = parameters.map((parameter) => `${parameter.name}: ${parameter.foreign.type}`).join(", ");
  const type = entry.nonblocking ? `Promise<${result.type}>` : result.type;
  const notes = [
    ...entry.sret ? [" x86-64 only: `result` is where the object that it returns goes."] : [],
    ...entry.nonblocking ? [" Runs on another thread."] : [],
    ...entry.optional ? [" Null where the library lacks it."] : [],
  ];
  return `  /** \`${prototype}\`${notes.join("")} */\n` +
    (entry.optional ? `  readonly ${name}: ((${list}) => ${type}) | null;` : `  ${name}(${list}): ${type};`);
}
