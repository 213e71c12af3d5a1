/** The tap itself: what it makes fail has to be what a library's failure is. */
import { assertEquals } from "@std/assert";
import { Counted, tapped } from "./tap.ts";

Deno.test("faults: a release on another thread is over before its failure is reported", async () => {
  const { promise, resolve } = Promise.withResolvers<number>();
  const { avio_closep } = tapped("ffmpeg_format", { avio_closep: () => promise });
  using counted = new Counted(() => true);
  const order: string[] = [];
  const answer = (avio_closep as () => Promise<number>)().then((code) => order.push(code < 0 ? "failed" : "went well"));
  await new Promise((resolve) => setTimeout(resolve));
  order.push("released");
  resolve(0);
  await answer;
  assertEquals([counted.failed, order], ["ffmpeg_format.avio_closep", ["released", "failed"]]);
});
