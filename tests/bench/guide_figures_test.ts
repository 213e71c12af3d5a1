// Figures that a guide quotes are those of the committed bench.

import { assertEquals } from "@std/assert";
import { time } from "../../bench/report/format.ts";

const RESULTS = "../../bench/results/intel-xeon-processor-2-cores-portable-computing-language.json";

interface Figure {
  readonly id: string;
  readonly ways: readonly { readonly name: string; readonly time: { readonly median: number } }[];
}

/** The figure of each row of the table, by its first cell. */
const ROWS: Readonly<Record<string, string>> = {
  "512×400": "opencv-transfer-seed",
  "1920×1080×3": "opencv-transfer-1080p",
  "3840×2160×4": "opencv-transfer-4k",
  "…, with a blur": "opencv-blur-4k",
};

Deno.test("docs/guides/opencv.md has the committed medians of a UMat and back", async () => {
  const read = (path: string) => Deno.readTextFile(new URL(path, import.meta.url));
  const { figures } = JSON.parse(await read(RESULTS)) as { figures: readonly Figure[] };
  const guide = await read("../../docs/guides/opencv.md");
  for (const [what, id] of Object.entries(ROWS)) {
    const row = guide.split("\n").find((line) => line.startsWith(`| ${what} `))!;
    const { ways } = figures.find((figure) => figure.id === id)!;
    const median = (name: string) => time(ways.find((way) => way.name.startsWith(name))!.time.median);
    const expected = [median("C++, copyTo"), median("C++, sharing"), median("samepage")];
    assertEquals(row.split("|").slice(2, 5).map((cell) => cell.trim()), expected, what);
  }
});
