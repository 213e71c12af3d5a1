import type { Gate } from "../subject.ts";
import type { FakeContext } from "./context.ts";

/** Work of the fake that a test lets begin. */
export function fakeGate(context: FakeContext): Gate {
  const { fence, set } = context.userEvent();
  let isSet = false;
  const once = (code?: number) => {
    if (isSet) return;
    isSet = true;
    set(code);
  };
  return {
    fence,
    open: () => once(),
    fail: () => once(-1),
    [Symbol.dispose]() {
      once(-1);
      fence[Symbol.dispose]();
    },
  };
}
