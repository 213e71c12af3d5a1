// The viewer: what a client reads, and, where one is installed, what a browser shows.

import { assert, assertEquals, assertMatch } from "@std/assert";
import { type Frame, host, type HostTensor, imageInfo, MapperGraph } from "../../mod.ts";
import { OpenCVContext, type OpenCVTensor } from "../../src/opencv/mod.ts";
import { pipeline, Source, svgOf, tee, Transform, viewer } from "../../src/pipeline/mod.ts";
import { doubling, noted, numbered, test } from "./help.ts";

/** Green pictures, until the test is over. */
function pictures(isOver: () => boolean): Source {
  return new Source({
    name: "green",
    async *frames({ signal }) {
      while (!isOver() && !signal.aborted) {
        const frame: Frame<HostTensor> = host.allocateFrame(imageInfo({ format: "BGR", width: 64, height: 48 }));
        const bytes = frame.planes[0].bytes();
        for (let i = 1; i < bytes.length; i += 3) bytes[i] = 200;
        yield frame;
        await new Promise((resolve) => setTimeout(resolve, 5));
      }
    },
  });
}

// Deno keeps sockets of its own for a while: fds are not counted.
Deno.test("pipeline: viewer() serves its frames as JPEG, and figures, to this machine alone", async () => {
  using cv = OpenCVContext.open();
  using client = Deno.createHttpClient({});
  const ask = (path: string) => fetch(path, { client });
  let isOver = false;
  const { promise: listening, resolve } = Promise.withResolvers<string>();
  const running = pipeline(pictures(() => isOver), viewer(cv, { listening: resolve })).run();
  const url = await listening;
  try {
    assert(url.startsWith("http://127.0.0.1:"), url);
    const page = await (await ask(url)).text();
    assert(page.includes('src="/stream"'));
    assertMatch(await (await ask(`${url}figures`)).text(), /^green +\d+ frames[^]*\nviewer +\d+ frames[^]* a second/);
    const { body, headers } = await ask(`${url}stream`);
    assert(headers.get("content-type")?.startsWith("multipart/x-mixed-replace"));
    using reader = Object.assign(body!.getReader(), { [Symbol.dispose]() {} });
    const bytes: number[] = [];
    while (bytes.length < 3000) bytes.push(...(await reader.read()).value!);
    await reader.cancel();
    const text = String.fromCharCode(...bytes);
    const length = Number(text.match(/Content-Length: (\d+)/)![1]);
    const begin = text.indexOf("\r\n\r\n") + 4;
    const jpeg = Uint8Array.from(bytes.slice(begin, begin + length));
    using picture = cv.imdecode(jpeg);
    const [blue, green, red] = pixelOf(cv, picture, 0, 0);
    assert(Math.abs(green - 200) < 4 && blue < 4 && red < 4, `${blue} ${green} ${red}`);
    for (const [path, status] of [["nothing", 404], ["", 200]] as const) {
      const response = await ask(`${url}${path}`);
      assertEquals(response.status, status);
      await response.body?.cancel();
    }
  } finally {
    isOver = true;
    await running;
  }
});

function pixelOf(cv: OpenCVContext, mat: OpenCVTensor, x: number, y: number): readonly number[] {
  using graph = new MapperGraph([host, cv]);
  using pixels = graph.map(mat, host, { access: "read" });
  const at = y * mat.layout.strides[0] + x * mat.layout.strides[1];
  return [...pixels.bytes({ access: "read" }).subarray(at, at + 3)].map(Number);
}

const browser = ["chromium-headless-shell", "chromium"].find((name) => {
  try {
    return new Deno.Command(name, { args: ["--version"], stdout: "null", stderr: "null" }).outputSync().success;
  } catch {
    return false;
  }
});

Deno.test({
  name: `pipeline: viewer() shows its frames in a browser${browser === undefined ? " (no Chromium is installed)" : ""}`,
  ignore: browser === undefined,
  fn: async () => {
    using cv = OpenCVContext.open();
    let isOver = false;
    const { promise: listening, resolve } = Promise.withResolvers<string>();
    const running = pipeline(pictures(() => isOver), viewer(cv, { listening: resolve })).run();
    const folder = await Deno.makeTempDir();
    try {
      const url = await listening;
      const args = ["--no-sandbox", "--disable-gpu", "--hide-scrollbars", "--timeout=4000", "--window-size=300,200"];
      const { success } = await new Deno.Command(browser!, {
        args: [...args, `--user-data-dir=${folder}`, `--screenshot=${folder}/page.png`, url],
        ...{ stdout: "null", stderr: "null" },
      }).output();
      assert(success);
      using page = cv.imread(`${folder}/page.png`);
      const [blue, green, red] = pixelOf(cv, page, 30, 30);
      assert(Math.abs(green - 200) < 6 && blue < 6 && red < 6, `${blue} ${green} ${red}`);
    } finally {
      isOver = true;
      await running;
      await Deno.remove(folder, { recursive: true });
    }
  },
});

test("svgOf() draws a box for each stage, and an arrow for each hand-over", async () => {
  await using whole = pipeline(numbered(2), doubling(), tee([doubling(), noted().sink], [noted().sink]));
  const svg = svgOf(await whole.explain());
  assertEquals([svg.match(/<rect /g)?.length, svg.match(/<path /g)?.length], [6, 5]);
  assert(svg.includes("double") && svg.includes("GRAY8 8 × 4 in host"), svg);
  await using odd = pipeline(numbered(1), new Transform({ name: 'a\u0001 <&"', process: () => {} }));
  assert(svgOf(await odd.explain()).includes(">a  &lt;&amp;&quot;<"), "a name is text");
});
