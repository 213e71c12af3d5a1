import { assert } from "@std/assert";
import { Pace } from "../../src/core/pace.ts";

Deno.test("Pace: timers and sockets get their turns, though the program works for long on each thing that has come", async () => {
  using listener = Deno.listen({ hostname: "127.0.0.1", port: 0 });
  using near = await Deno.connect({ hostname: "127.0.0.1", port: (listener.addr as Deno.NetAddr).port });
  using far = await listener.accept();
  let [isDue, isHeard] = [false, false];
  const reading = far.read(new Uint8Array(1)).then(() => isHeard = true);
  setTimeout(() => { // the other side's word comes while the program is busy
    isDue = true;
    near.write(new Uint8Array(1));
  }, 30);
  const pace = new Pace();
  for (let i = 1; i <= 50; i++) {
    for (const end = performance.now() + 20; performance.now() < end;); // the program's work
    const turn = pace.next();
    if (turn !== undefined) await turn;
    if (i === 10) assert(isDue, "no timer");
  }
  assert(isHeard, "no socket");
  await reading;
});
