import { assert, assertEquals } from "@std/assert";
import sharp from "sharp";
import { doctor, type EdgeReport, type Report, svgOf } from "@samepage/interop/doctor";
import { BOX, curveBetween, layOut } from "../../src/doctor/show/svg_layout.ts";

/** librsvg refuses XML that is not well-formed. */
async function drawn(svg: string): Promise<{ width: number; height: number }> {
  const { width, height, format } = await sharp(new TextEncoder().encode(svg)).metadata();
  assertEquals(format, "svg");
  return { width, height };
}

/** A report of devices with such names, and an edge of each colour. */
function invented(names: readonly string[]): Report {
  const targets = names.map((_, i) => ({ id: `opencl:${i}`, kind: "opencl", api: "opencl", device: `opencl:${i}` }));
  const devices = names.map((name, i) => ({
    id: `opencl:${i}`,
    name,
    facts: [],
    traits: [],
    aliasing: [],
    findings: [],
  }));
  const words = ["alias", "migrate", "copy"] as const;
  const edges: EdgeReport[] = targets.slice(1).map(({ id }, i) => ({
    edge: "opencl→opencl",
    from: "opencl:0",
    to: id,
    ...(i % 4 === 3 ? { open: false, reason: `no <way> & "that"` } : { open: true, transfer: words[i % 4] }),
  }));
  const library = { variable: "", attempts: [], facts: [] };
  return {
    ...doctor({ proofs: false }),
    apis: [{ api: "opencl", library, modules: [], variables: {}, drivers: [], devices, findings: [] }],
    targets,
    edges: [...edges, { edge: "cuda→opencl", open: false, reason: "there is no cuda here." }],
  };
}

Deno.test("doctor: the picture of this machine is well-formed, and has its targets and edges", async () => {
  const report = doctor();
  const svg = svgOf(report);
  await drawn(svg);
  for (const { id } of report.targets) assert(svg.includes(`>${id}</text>`), id);
  const arrows = svg.match(/<g class="(?:alias|migrate|copy|closed)">/g) ?? [];
  assert(arrows.length >= report.edges.filter(({ from }) => from !== undefined).length, svg);
  assert(
    !/https?:(?!\/\/www\.w3\.org\/2000\/svg)|url\((?!#)|@import|<image|<script/.test(svg),
    "it needs another file",
  );
});

Deno.test("doctor: names of drivers cannot break the picture, and each transfer has its colour", async () => {
  const names = [`<&">`, "\u0000\u001b\ud800", "]]>", "x".repeat(300), "ジ".repeat(40), "</svg>"];
  const svg = svgOf(invented(names));
  await drawn(svg);
  for (const word of ["alias", "migrate", "copy", "closed"]) {
    assert(svg.includes(`<g class="${word}"><title>`) && svg.includes(`<g class="${word} legend">`), word);
  }
  assert(svg.includes(".closed path{stroke-dasharray:"), "what is closed is dashed");
  assert(svg.includes("not on this machine"), "a kind that an edge speaks of is drawn");
  assert(svg.includes("prefers-color-scheme:dark"));
});

Deno.test("doctor: boxes lie apart and inside, arrows begin and end on their borders", () => {
  for (let count = 0; count <= 16; count++) {
    const { places, width, height } = layOut(count);
    assertEquals(places.length, count);
    for (const [i, a] of places.entries()) {
      assert(a.x >= BOX.width / 2 && a.x <= width - BOX.width / 2, `${count}: x of ${i}`);
      assert(a.y >= BOX.height / 2 && a.y <= height - BOX.height / 2, `${count}: y of ${i}`);
      for (const [j, b] of places.entries()) {
        if (i === j) continue;
        const apart = Math.abs(a.x - b.x) > BOX.width || Math.abs(a.y - b.y) > BOX.height;
        assert(apart, `${count}: boxes ${i} and ${j} overlap`);
        const { from, to } = curveBetween(a, b);
        for (const [end, at] of [[from, a], [to, b]] as const) {
          const out = Math.max(Math.abs(end.x - at.x) - BOX.width / 2, Math.abs(end.y - at.y) - BOX.height / 2);
          assert(out > 0 && out < 12, `${count}: an end of ${i} → ${j} is ${out} away from its box`);
        }
      }
    }
  }
});
