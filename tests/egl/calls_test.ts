/** Which calls the drivers get, and when: on Mesa's software driver, nothing else shows that one of these is missing. */
import { assertEquals } from "@std/assert";
import { setTap } from "../../src/core/native/library.ts";
import type { GlSyncPort } from "../../src/gl/port.ts";
import { EglContext, eglDevices } from "@samepage/interop/egl";
import { missing, test } from "./help.ts";

/** The calls of these functions since the list was last emptied. */
const calls: string[] = [];
const RECORDED = ["eglCreateSync", "glFenceSync", "glFlush", "eglReleaseThread"];

setTap((_api, functions) => {
  const recorded = RECORDED.filter((name) => name in functions).map((name) => {
    const real = functions[name] as (...args: unknown[]) => unknown;
    const call = (...args: unknown[]) => {
      calls.push(name);
      return real(...args);
    };
    return [name, call];
  });
  return { ...functions, ...Object.fromEntries(recorded) };
});

/** What is called while this runs. */
function callsOf(run: () => void): readonly string[] {
  calls.length = 0;
  run();
  return calls.splice(0);
}

test("a fence is flushed while its context is current: another thread that waits for it cannot", (egl) => {
  egl.queue.run([], () => {});
  const fence = egl.queue.fence();
  assertEquals(callsOf(() => void fence.reached()), ["eglCreateSync", "glFlush"]);
});

test("so is a GLsync that another driver waits for", ({ line: { lane } }) => {
  const made = callsOf(() => (lane.exportGlSync() as GlSyncPort).delete());
  assertEquals(made, ["glFenceSync", "glFlush"]);
});

Deno.test({
  name: "egl: a thread is released at the end of its last context, and not while another one is open",
  ignore: missing() !== undefined, // test() itself has one more context
  fn() {
    const [first, second] = [EglContext.open(), EglContext.open()];
    const whileOpen = callsOf(() => {
      first[Symbol.dispose]();
      eglDevices();
    });
    assertEquals(whileOpen, []);
    assertEquals(callsOf(() => second[Symbol.dispose]()), ["eglReleaseThread"]);
    assertEquals(callsOf(() => void eglDevices()), ["eglReleaseThread"]);
  },
});
