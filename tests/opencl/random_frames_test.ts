import { testPairs } from "./help.ts";
import { runFrames } from "./random_frames.ts";

testPairs("random programs over frames and their planes leave the bytes that arithmetic gives", async (one, other) => {
  await runFrames([one, other], Array.from({ length: 30 }, (_, i) => i + 1));
});
