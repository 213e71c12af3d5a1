import { host, MapperGraph, ledger, layout, region, imageInfo } from "@samepage/interop";
import { OpenCLContext, openclDevices } from "@samepage/interop/opencl";
for (const d of openclDevices()) console.log(d.platform, d.name, d.type, d.subBufferAlign, d.id);
const platform = Deno.args[0] ?? "Portable";
{
  using cl = OpenCLContext.open({ platform });
  using graph = new MapperGraph([host, cl]);
  using program = cl.program(`kernel void twice(global float* x) { x[get_global_id(0)] *= 2; } kernel void inc(global uchar* y, uchar by) { y[get_global_id(0)] += by; }`);
  using twice = program.kernel("twice");
  using inc = program.kernel("inc");
  using numbers = host.allocate({ shape: [1024], dtype: "f32" });
  numbers.view().fill(3);
  let t = performance.now();
  console.log(graph.explain(numbers, cl), performance.now() - t);
  {
    using on = graph.map(numbers, cl);
    twice.run([1024], [on]);
    try { numbers.view(); } catch (e) { console.log(String(e)); }
    try { inc.run([4], [on, 3]); } catch (e) { console.log(String(e)); }
    using back = graph.map(on, host);
    console.log(back.view()[0], on.route, back.route, ledger.alive);
    back.view()[0] = 50;
    back[Symbol.dispose]();
    twice.run([1024], [on]);
  }
  console.log(numbers.view().slice(0, 4), ledger.alive);
  using frame = host.allocateFrame(imageInfo({ format: "NV12", width: 1920, height: 1080 }));
  {
    using f = graph.map(frame, cl);
    console.log(f.planes.map((p) => [p.layout.byteOffset, p.origin]), f.route);
    inc.run([1920 * 540], [f.planes[1], 7]);
    using h = graph.map(f, host);
    console.log(h.planes[1].view()[0], h.planes[0].view()[0]);
  }
  console.log(frame.planes[1].view()[5], frame.planes[0].view()[5]);
  for (const o of [0, 1, 4, 64, 100]) {
    using odd = numbers.slice(layout({ shape: [100], dtype: "u8", byteOffset: o }));
  }
  console.log(cl.aliasRule());
  using mine = cl.allocate({ shape: [100], dtype: "f32" });
  using m = graph.map(mine, host, {access: "write"});
  m.view().fill(9);
  console.log(m.route);
  m[Symbol.dispose]();
  twice.run([100], [mine]);
  const out = new Float32Array(100);
  cl.queue.read(mine, out);
  console.log(out[5], cl.bytesCopied);
  { using gate = cl.userEvent();
    using on = graph.map(numbers, cl);
    twice.run([1024],[on],{after: gate.fence});
    try { on[Symbol.dispose](); } catch (e) { console.log(String(e)); }
    gate.complete();
    await on[Symbol.asyncDispose]();
  }
  console.log(numbers.view()[3]);
  { using on = graph.map(numbers, cl); on[Symbol.dispose]();
    let t0 = performance.now();
    for (let i = 0; i < 20000; i++) { graph.map(numbers, cl)[Symbol.dispose](); }
    console.log("map+dispose µs", (performance.now()-t0)/20);
  }
  const on = graph.map(numbers, cl);
  twice.run([1024],[on]);
  using f = cl.queue.fence();
  on.disposeAfter(f);
  try { numbers.view(); } catch (e) { console.log(String(e)); }
  using again = graph.map(numbers, cl);
  console.log(again.route);
  await f.wait();
}
await new Promise(r => setTimeout(r, 10));
console.log(ledger.alive);
