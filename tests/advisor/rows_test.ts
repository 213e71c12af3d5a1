// The rows themselves: each has one id, a source and a sentence, and is what some answer or lookup rests on.

import { assert, assertEquals } from "@std/assert";
import {
  advise,
  adviseAttach,
  ADVISED_KINDS,
  adviseDevice,
  adviseSync,
  ADVISOR_ROWS,
  advisorRow,
  CPU_PATTERNS,
  CUDA_FEATURES,
  prefetchOf,
  tegraFeature,
  tegraReach,
} from "../../src/advisor/mod.ts";
import { DEVICES, H200, ORIN, TX2 } from "./devices.ts";
import { everyRequest } from "./requests.ts";

/** Every row id in an answer, wherever it is. */
function idsIn(answer: unknown, found: Set<string> = new Set()): Set<string> {
  if (typeof answer === "string") {
    if (/^[a-z0-9]+\/[^ ]+\/[^ ]+$/.test(answer)) found.add(answer);
  } else if (typeof answer === "object" && answer !== null) {
    for (const value of Object.values(answer)) idsIn(value, found);
  }
  return found;
}

function* everyAnswer(): Generator<unknown> {
  for (const request of everyRequest()) yield advise(request);
  for (const device of Object.values(DEVICES)) {
    for (const kind of ADVISED_KINDS) {
      yield tegraReach(kind, "cpu", device);
      yield tegraReach(kind, "gpu", device);
    }
    for (const feature of CUDA_FEATURES) {
      yield tegraFeature(feature, device);
      yield tegraFeature(feature, device, true);
    }
  }
  for (const device of [ORIN, TX2, H200, DEVICES["Orin with QNX"]]) {
    for (const cpu of CPU_PATTERNS) {
      yield adviseAttach({ cpu, device });
      yield adviseAttach({ cpu, device, oneStream: true });
    }
    for (const favour of ["latency", "power", "threads", "platform"] as const) yield adviseSync({ favour, device });
    yield adviseSync({ device, cudaVersion: 9000 });
  }
  yield prefetchOf("cudaMemAttachGlobal", "cudaMemAttachSingle");
  yield prefetchOf("cudaMemAttachSingle", "cudaMemAttachGlobal");
  yield prefetchOf("cudaMemAttachHost", "cudaMemAttachHost");
  const kernel = { igpu: 1, dgpu: 1 };
  for (const data of ["soc", "dgpu"] as const) {
    yield adviseDevice({ data });
    yield adviseDevice({ data, managed: true });
    yield adviseDevice({ data, kernel, latency: kernel, transfer: 1 });
  }
}

Deno.test("rows: every id is there once, and every row has a document, a section and a sentence", () => {
  assertEquals(new Set(ADVISOR_ROWS.map(({ id }) => id)).size, ADVISOR_ROWS.length);
  for (const row of ADVISOR_ROWS) {
    assert(/^(002|003|best|programming|cuda|own)\/[^/ ]+\/[^ ]+$/.test(row.id), row.id);
    assert(row.document !== undefined && row.section.length > 0, row.id);
    assert(/^\S.*[^.]\.$/.test(row.says) && !/\s\s/.test(row.says), `${row.id}: ${row.says}`);
    assert(Object.isFrozen(row));
    assertEquals(advisorRow(row.id), row);
  }
});

Deno.test("rows: no two say the same", () => {
  assertEquals(new Set(ADVISOR_ROWS.map(({ says }) => says)).size, ADVISOR_ROWS.length);
});

Deno.test("rows: sections read as their documents call them", () => {
  const where = (id: Parameters<typeof advisorRow>[0]) => `${advisorRow(id).document}, ${advisorRow(id).section}`;
  assertEquals(where("003/3.1/safety"), "CUDA for Tegra, §3.1");
  assertEquals(where("003/2/same-dram"), "CUDA for Tegra, §2");
  assertEquals(where("003/table-2/host-global"), "CUDA for Tegra, table 2");
  assertEquals(where("002/cudaHostAlloc/free"), "Custom Memory Allocators in OpenCV, cudaHostAlloc");
  assertEquals(where("best/zero-copy/once"), "CUDA C++ Best Practices Guide, Zero Copy");
  assertEquals(where("cuda/cudaFree/device"), "CUDA Runtime API, cudaFree");
  assertEquals(where("own/measured/register"), "samepage, measured");
});

Deno.test("rows: each is what some advice or lookup rests on, and advice rests on nothing else", () => {
  const cited = new Set<string>();
  for (const answer of everyAnswer()) idsIn(answer, cited);
  assertEquals([...cited].sort(), ADVISOR_ROWS.map(({ id }) => id as string).sort());
});
