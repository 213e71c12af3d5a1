import { type Found, lookAtPython } from "../../python/library.ts";
import type { ApiExaminer, Examined } from "../api.ts";
import { examineLibrary } from "../library.ts";
import type { DeviceReport, Finding } from "../report.ts";

/** Array libraries, and the memory that their arrays may have. */
const LIBRARIES: Readonly<Record<string, string>> = {
  numpy: "the host's",
  torch: "the host's, and CUDA's",
  cupy: "CUDA's",
  jax: "the host's, and CUDA's",
};

/** Looks for Python without starting it, because a process has only one, and a program may choose another. */
export const PYTHON: ApiExaminer = {
  api: "python",
  variables: ["SAMEPAGE_LIB_PYTHON", "VIRTUAL_ENV"],
  files: [],

  examine(): Examined {
    const findings: Finding[] = [];
    let found: Found | undefined;
    const look = () => found = lookAtPython(Object.keys(LIBRARIES));
    const library = examineLibrary("python", look, "Py_GetVersion", findings);
    const report = { api: PYTHON.api, library, modules: [], drivers: [], findings };
    if (found === undefined) return { report: { ...report, devices: [] }, nodes: [] };
    const { version, installation, modules } = found;
    const arrays = modules.map((name) => `${name} (${LIBRARIES[name]})`);
    const device: DeviceReport = {
      ...{ id: PYTHON.api, name: `Python ${version} at ${installation.folder}`, facts: [], aliasing: [], findings: [] },
      traits: [
        { label: "arrays", text: arrays.join(", ") || "none: pip install numpy, and pass the venv's folder as home" },
        { label: "buffers", text: "bytes, memoryview, array.array: the host's" },
      ],
    };
    return { report: { ...report, library: { ...library, version }, devices: [device] }, nodes: [] };
  },
};
