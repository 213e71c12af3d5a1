import { linesOf } from "./lines.ts";
import { measure, type Operation } from "./operation.ts";

/** Makes this process a program of the bench, as c/serve.h does for C: it replies to lines of its standard input. */
export async function serve(operations: Readonly<Record<string, () => Operation | Promise<Operation>>>): Promise<void> {
  const made: Record<string, Operation> = {};
  console.log("ready");
  for await (const line of linesOf(Deno.stdin.readable)) {
    const [name, count] = line.split(" ");
    made[name] ??= await operations[name]();
    console.log(await measure(made[name], Number(count)));
  }
}
