import { ArgumentError, host, MapperGraph } from "@samepage/interop";
import { BYTES, device, kernels, ONE } from "../cuda.ts";
import { fails, outcome, say } from "../kit.ts";
import { table } from "../row.ts";

export default table(import.meta, {
  "a tensor of another device": {
    gpus: 2,
    run() {
      using first = device(0);
      using second = device(1);
      using k = kernels(first);
      using x = second.allocate(BYTES);
      using managed = second.managed.allocate(BYTES);
      using pinned = second.pinned.allocate(BYTES);
      say(outcome(() => k.add.run(ONE, [x, 1]))); // without, both devices would be lost
      outcome(() => k.add.run(ONE, [managed, 1]));
      k.add.run(ONE, [pinned, 1]); // portable
      first.stream.finish();
      second.stream.fill(x, 1);
      second.stream.finish();
    },
    says: ["ArgumentError args[0]"],
  },
  "a stream of another device": {
    gpus: 2,
    run() {
      using first = device(0);
      using second = device(1);
      using k = kernels(first);
      using x = first.allocate(BYTES);
      using timer = first.timer();
      using event = first.exportEvent();
      say(outcome(() => k.add.run(ONE, [x, 1], { stream: second.stream })));
      say(outcome(() => timer.start(second.stream)));
      say(outcome(() => event.record(second.stream)));
      using managed = first.managed.allocate(BYTES);
      say(outcome(() => first.managed.attach(managed, "global", second.stream)));
    },
    says: Array(4).fill("ArgumentError stream"),
  },
  "a stream of another device, attached to by its handle": {
    gpus: 2,
    run() {
      using first = device(0);
      using second = device(1);
      using theirs = second.createStream();
      using own = first.createStream();
      for (const wrong of [() => first.attachStream(theirs.handle), () => second.attachStream(own.handle)]) {
        say(outcome(wrong));
      }
      using attached = second.attachStream(theirs.handle);
      using x = second.allocate(BYTES);
      attached.fill(x, 1);
      attached.finish();
    },
    says: Array(2).fill("ArgumentError handle"),
  },
  "memory of another device, attached": {
    gpus: 2,
    run() {
      using first = device(0);
      using second = device(1);
      using x = second.allocate(BYTES);
      using pinned = second.pinned.allocate(BYTES);
      using _peer = first.attach(pinned.handle, BYTES); // every device reaches it
      first.attach(x.handle, BYTES);
    },
    fails: {
      ...{ error: ArgumentError, api: "cuda", argument: "address" },
      message: /it is memory of device 1/,
      hint: /CudaContext.open/,
    },
  },
  "an event of another device": {
    gpus: 2,
    run() {
      using first = device(0);
      using second = device(1);
      using k = kernels(first);
      using x = first.allocate(BYTES);
      using y = second.allocate(BYTES);
      k.wait.run({ groups: [1], groupSize: [256] }, [x, 20]);
      second.stream.waitFor(first.stream.fence()); // on the device: CUDA has that
      second.stream.fill(y, 1);
      second.stream.finish();
      say(first.stream.fence().reached());
    },
    says: ["true"],
  },
  "memory of another device, through the graph": {
    gpus: 2,
    run() {
      using first = device(0);
      using second = device(1);
      using graph = new MapperGraph([host, first, second]);
      using k = kernels(second);
      using x = first.allocate(BYTES);
      {
        using mapped = graph.map(x, second, { copy: "allow" });
        k.add.run(ONE, [mapped, 1]);
        fails("given out", () => second.exportMemory(mapped), ArgumentError);
      }
      first.stream.fill(x, 1);
      first.stream.finish();
    },
  },
  "one that is disposed while the other uses its memory": {
    gpus: 2,
    run() {
      const first = device(0);
      using second = device(1);
      using graph = new MapperGraph([first, second]);
      using k = kernels(second);
      const x = first.allocate(BYTES);
      const mapped = graph.map(x, second, { copy: "allow" });
      k.wait.run({ groups: [1], groupSize: [256] }, [mapped, 30]);
      first[Symbol.dispose]();
      say(mapped.resource.state, x.resource.state);
      second.stream.finish();
    },
    says: ["freed freed"],
  },
});
