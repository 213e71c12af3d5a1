import { readRegularFile } from "../../core/files.ts";
import { environmentInWords } from "../../core/native/library.ts";
import type { DriverReport, Finding } from "../report.ts";

/** The folder in which each driver registers with the loader, by a file with a library's name (cl_khr_icd). */
export const VENDORS = "/etc/OpenCL/vendors";

const INSTEAD = ["OCL_ICD_VENDORS", "OCL_ICD_FILENAMES"];

const WANTS: readonly (readonly [name: string, remedy: string])[] = [
  ["rusticl", "Set RUSTICL_ENABLE to the driver to use: llvmpipe (the CPU), iris (Intel), radeonsi (AMD), …"],
  ["clover", "It is rusticl's predecessor, for older AMD GPUs: without one there is nothing to mend."],
  ["portable computing", "Unset POCL_DEVICES, or name a device in it that PoCL was built with: cpu."],
];

const HARDWARE = "Is its hardware there, its kernel driver loaded, and may you open it (group render, /dev/dri)?";

export function noPlatforms(): Finding {
  const what = "The OpenCL loader found no driver.";
  const set = INSTEAD.filter((name) => environmentInWords(name) !== undefined);
  if (set.length > 0) {
    const names = set.map((name) => `${name}=${environmentInWords(name)}`).join(", ");
    return { what, remedy: `Unset ${names}: it stands in the place of ${VENDORS}.` };
  }
  const install = "Install one: apt install pocl-opencl-icd (the CPU), intel-opencl-icd, nvidia-opencl-icd, …";
  return { what, remedy: `${install} Where one is installed: is OCL_ICD_VENDORS set?` };
}

export function noDevices(platform: string): Finding {
  const remedy = WANTS.find(([name]) => platform.toLowerCase().includes(name))?.[1] ?? HARDWARE;
  return { what: `${platform} offers no device.`, remedy };
}

/** Installed drivers that did not become platforms; empty if the folder may not be read. */
export function installedDrivers(loaded: readonly DriverReport[], folder: string = VENDORS): Finding[] {
  if (INSTEAD.some((name) => environmentInWords(name) !== undefined)) return [];
  const files = loaded.flatMap(({ file }) => file === undefined ? [] : [baseOf(file)]);
  if (files.length < loaded.length) return []; // not all files are known
  return vendorFiles(folder).filter(({ library }) => !files.includes(baseOf(library))).map(({ icd, library }) => ({
    what: `${folder}/${icd} names ${library}, which the loader did not take.`,
    remedy: "Is that library there, and all that it needs? ldd lists it.",
  }));
}

const MAX_BYTES = 65_536;

function vendorFiles(folder: string): { readonly icd: string; readonly library: string }[] {
  try {
    const names = [...Deno.readDirSync(folder)].map(({ name }) => name).filter((name) => name.endsWith(".icd"));
    const textOf = (icd: string) => new TextDecoder().decode(readRegularFile(`${folder}/${icd}`, MAX_BYTES)).trim();
    return names.sort().map((icd) => ({ icd, library: textOf(icd) }));
  } catch {
    return []; // no such folder, or not permitted
  }
}

function baseOf(path: string): string {
  return path.slice(path.lastIndexOf("/") + 1);
}
