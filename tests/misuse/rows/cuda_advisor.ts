import { AccessError, ArgumentError, host } from "@samepage/interop";
import {
  advise,
  adviseAttach,
  adviseDevice,
  adviseSync,
  advisorRow,
  CLAIMS,
  cudaTraitsOf,
  judgeClaim,
  memoryFunctions,
  prefetchOf,
  tegraFeature,
  tegraReach,
} from "@samepage/interop/advisor";
import { assertAllowed, ManagedTurns, refusalOf } from "@samepage/interop/cuda";
import { LONG_VALUES, LONGEST_MESSAGE } from "../anything.ts";
import { any, fails, outcome, OwnFence, say } from "../kit.ts";
import { table } from "../row.ts";

/** What is no request, no kind and no device. */
const RUBBISH = [undefined, null, 5, "x", {}, [], 2n, Symbol("s"), () => {}, NaN, "toString", "__proto__"];

const H200 = {
  integrated: false,
  computeCapability: { major: 9, minor: 0 },
  system: "other",
  canMapHostMemory: true,
  hostRegisterSupported: true,
  managedMemory: true,
  concurrentManagedAccess: true,
  pageableMemoryAccess: false,
} as const;

export default table(import.meta, {
  "rubbish to every question": {
    run() {
      const questions: Readonly<Record<string, (rubbish: unknown) => unknown>> = {
        advise: (it) => advise(any(it)),
        adviseAttach: (it) => adviseAttach(any(it)),
        adviseDevice: (it) => adviseDevice(any(it)),
        adviseSync: (it) => adviseSync(any(it)),
        cudaTraitsOf: (it) => cudaTraitsOf(any(it)),
        memoryFunctions: (it) => memoryFunctions(any(it)),
        tegraFeature: (it) => tegraFeature(any(it), H200),
        "tegraFeature of": (it) => tegraFeature("ipc", any(it)),
        tegraReach: (it) => tegraReach(any(it), "cpu", H200),
        "tegraReach of": (it) => tegraReach("pinned", "cpu", any(it)),
        advisorRow: (it) => advisorRow(any(it)),
        judgeClaim: (it) => judgeClaim(CLAIMS[0], any(it)),
        prefetchOf: (it) => prefetchOf(any(it), "cudaMemAttachGlobal"),
      };
      for (const [name, ask] of Object.entries(questions)) {
        for (const [i, it] of [...RUBBISH, ...LONG_VALUES].entries()) {
          const { message } = fails(`${name} ${i}`, () => ask(it), ArgumentError);
          if (message.length > LONGEST_MESSAGE) throw new Error(`${name} ${i}: ${message.length} characters`);
        }
      }
    },
  },
  "what the rules refuse": {
    run() {
      const device = { name: "a GPU", attributes: {} };
      say(refusalOf("device", "host-read", device) !== undefined);
      say(outcome(() => assertAllowed("device", "host-read", device)));
      say(outcome(() => assertAllowed("pinned", "register", device, "memory")));
      say(outcome(() => assertAllowed("managed", "prefetch", device)));
    },
    says: ["true", "AccessError tensor", "ArgumentError memory", "ArgumentError tensor"],
  },
  "managed memory out of turn": {
    run() {
      const turns = new ManagedTurns();
      using memory = host.allocate({ shape: [64], dtype: "u8" });
      const { grant: { allocation } } = memory;
      const timeline = { stream: 3n };
      turns.before(timeline); // nothing is tracked
      turns.takeViews(allocation);
      turns.streamEnds(timeline, true);
      turns.join({ workInFlight: () => [] });
      turns.track(allocation, "global");
      const view = memory.view();
      turns.before(timeline);
      say(view.length);
      turns.attached(allocation, "host");
      fails("attached to the host", () => turns.assertReachable(allocation, timeline, "args[0]"), AccessError);
      turns.attached(allocation, timeline);
      turns.assertReachable(allocation, timeline, "args[0]");
      fails("attached to another", () => turns.assertReachable(allocation, { stream: 4n }, "args[0]"), AccessError);
      using fence = new OwnFence();
      fence.done = true;
      turns.after(timeline, fence);
      turns.streamEnds(timeline, true);
      turns.streamEnds(timeline, true); // it has ended already
      turns.takeViews(allocation);
    },
    says: ["0"],
  },
});
