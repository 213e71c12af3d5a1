// A Worker with a flag: it awaits one that is set soon, or leaves one that is set after it was terminated.
import { NativeFlag } from "../../backend.ts";
import { openCaller } from "./native_flag_library.ts";

const scope = globalThis as unknown as {
  postMessage(message: unknown): void;
  onmessage: (event: MessageEvent<number>) => void;
};

scope.onmessage = async ({ data: delay }) => {
  const caller = openCaller();
  const flags = Array.from({ length: 50 }, () => new NativeFlag());
  for (const { callback, data } of flags) caller.call_later(callback, data, delay);
  scope.postMessage("called");
  await Promise.all(flags.map((flag) => flag.fence()));
  for (const flag of flags) flag[Symbol.dispose]();
  scope.postMessage(flags.every((flag) => flag.isSet()));
};
