/**
 * How much code runs for one warm map from the host to OpenCL (the shortest of some), and for its dispose after a kernel
 * (the longest). V8 counts (precise coverage); a function without a name is not counted.
 *
 * @module
 */
import { Session } from "node:inspector";
import { host, MapperGraph } from "@samepage/interop";
import { OpenCLContext } from "@samepage/interop/opencl";

interface Script {
  readonly url: string;
  readonly functions: readonly {
    readonly functionName: string;
    readonly ranges: readonly { readonly count: number }[];
  }[];
}

/** Maps before the one that is counted: what is made once is there by then. */
const WARM_UP = 20;

/**
 * The command that gives the memory back may be over when the dispose looks, and then nothing waits: the rounds differ by
 * 11 to 13 functions, and how many wait depends on the machine's load.
 */
const ROUNDS = 10;

const session = new Session();
session.connect();

function post(method: string, options?: object): Promise<{ readonly result: readonly Script[] }> {
  const { promise, resolve, reject } = Promise.withResolvers<{ readonly result: readonly Script[] }>();
  session.post(method, options, (error, result) => error ? reject(error) : resolve(result as typeof promise));
  return promise;
}

/** What has run of samepage since it was last asked. */
async function ran(): Promise<{ readonly files: number; readonly functions: number }> {
  const { result } = await post("Profiler.takePreciseCoverage");
  const counts = result
    .filter(({ url }) => /\/(src|ffi)\/.*\.ts$|\/mod\.ts$/.test(url) && !url.includes("/tests/"))
    .map(({ functions }) => functions.filter(({ functionName, ranges }) => functionName !== "" && ranges[0].count > 0))
    .map(({ length }) => length)
    .filter((length) => length > 0);
  return { files: counts.length, functions: counts.reduce((sum, count) => sum + count, 0) };
}

await using cl = OpenCLContext.open({ platform: "Portable Computing Language" });
using graph = new MapperGraph([host, cl]);
using program = cl.program("kernel void invert(global uchar *x) { x[get_global_id(0)] ^= 255; }");
using invert = program.kernel("invert");
using tensor = host.allocate({ shape: [1024], dtype: "u8" });
const range = { items: [1024] };
for (let i = 0; i < WARM_UP; i++) {
  using mapped = graph.map(tensor, cl);
  invert.run(range, [mapped]);
}
await post("Profiler.enable");
await post("Profiler.startPreciseCoverage", { callCount: true, detailed: false });
type Count = Awaited<ReturnType<typeof ran>>;
const counts: { map: Count; dispose: Count }[] = [];
for (let i = 0; i < ROUNDS; i++) {
  await ran();
  const mapped = graph.map(tensor, cl);
  const map = await ran();
  invert.run(range, [mapped]);
  await ran();
  mapped[Symbol.dispose]();
  counts.push({ map, dispose: await ran() });
}
const by = (one: Count, other: Count) => one.functions - other.functions;
const [map] = counts.map(({ map }) => map).sort(by);
const dispose = counts.map(({ dispose }) => dispose).sort(by).at(-1);
console.log(JSON.stringify({ map, dispose }));
