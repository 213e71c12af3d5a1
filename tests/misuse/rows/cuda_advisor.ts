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
import { any, fails, outcome, say } from "../kit.ts";
import { table } from "../row.ts";

/** Anything but a request, a kind and a device. */
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
    async run() {
      const turns = new ManagedTurns();
      using memory = host.allocate({ shape: [64], dtype: "u8" });
      const { grant: { allocation } } = memory;
      const commands = { stream: 3n };
      const uses = [{ tensor: memory, access: "read", argument: "args[0]" }] as const;
      turns.before(commands); // nothing is tracked
      turns.takeViews(allocation);
      turns.streamEnds(commands, true);
      turns.track(allocation, "global");
      const view = memory.view();
      turns.before(commands);
      say(view.length);
      turns.attached(allocation, "host");
      fails("attached to the host", () => turns.assertReachable(uses, commands), AccessError);
      turns.attached(allocation, commands);
      turns.assertReachable(uses, commands);
      fails("attached to another", () => turns.assertReachable(uses, { stream: 4n }), AccessError);
      const fence = host.signal(Promise.resolve());
      turns.after(commands, fence);
      await fence.wait();
      turns.streamEnds(commands, true);
      turns.streamEnds(commands, true); // it has ended already
      turns.takeViews(allocation);
    },
    says: ["0"],
  },
});
