// How a program ends while Python has an array for good. Each is a process of its own.

import { assertEquals } from "@std/assert";
import { runModule } from "../process.ts";
import { PACKAGES, test } from "./help.ts";

const HEAD = `
import { host } from "@samepage/interop";
import { Python } from "@samepage/interop/python";
const python = Python.open({ path: [${JSON.stringify(PACKAGES)}] });
const tensor = host.allocate({ shape: [4], dtype: "f32" });
const lend = (code) => { using array = python.toArray(tensor, "numpy"); python.run(code, { array }); };
`;

const LATER = "import threading, time; threading.Thread(target=lambda array: time.sleep(0.2), args=(array,)).start()";

const PROGRAMS: Readonly<Record<string, readonly [code: string, stdout: string]>> = {
  "a background end does not wait for an array that Python keeps": [
    `lend("kept = array"); try { tensor[Symbol.dispose](); } catch (error) { console.log(error.name); }`,
    "AccessError",
  ],
  "a tensor whose finished() is awaited keeps the process until a thread of Python's lets go": [
    `lend(${JSON.stringify(LATER)}); await tensor.finished(); console.log("finished");`,
    "finished",
  ],
  "an end that is awaited says after seconds what Python has": [
    `console.warn = (text) => (console.log(text), python.run("del kept"));
     lend("kept = array"); await tensor[Symbol.asyncDispose](); console.log("ended");`,
    "samepage: the end of host tensor [4] f32 has been waiting for seconds. " +
    "Dispose what toArray() returned, and delete what Python keeps of it.\nended",
  ],
};

for (const [name, [code, said]] of Object.entries(PROGRAMS)) {
  test(name, ["numpy"], async () => {
    const { code: exit, signal, stdout, stderr } = await runModule(HEAD + code, { env: {} });
    assertEquals([exit, signal, stdout.trim()], [0, null, said], stderr);
  });
}
