import { VulkanContext } from "../../vulkan/context.ts";
import type { Order } from "../../vulkan/images/abilities.ts";
import { closedFor } from "../../vulkan/images/choice.ts";
import { type VulkanDevice, vulkanDevices } from "../../vulkan/device.ts";
import { vulkan } from "../../vulkan/library.ts";
import { type ApiExaminer, type Examination, type Examined, LITTLE, type Node } from "../api.ts";
import { attempt, type DeviceReport, type Fact, type Finding, type Trait } from "../report.ts";
import { identityTraits, lackingTraits } from "../traits.ts";
import { examineLibrary } from "../library.ts";

const VARIABLES = [
  "SAMEPAGE_LIB_VULKAN",
  "VK_DRIVER_FILES",
  "VK_ICD_FILENAMES",
  "VK_LOADER_DRIVERS_SELECT",
  "VK_INSTANCE_LAYERS",
  "VK_LOADER_LAYERS_ENABLE",
];

export const VULKAN: ApiExaminer = {
  api: "vulkan",
  variables: VARIABLES,
  files: ["/usr/share/vulkan/icd.d", "/etc/vulkan/icd.d"],

  examine(how: Examination): Examined {
    const findings: Finding[] = [];
    const library = examineLibrary("vulkan", vulkan, "vkCreateInstance", findings);
    const report = { api: VULKAN.api, library, modules: [], drivers: [], findings };
    if (library.opened === undefined) return { report: { ...report, devices: [] }, nodes: [] };
    const nodes: Node[] = [];
    const found = attempt(findings, vulkanDevices) ?? [];
    const devices = found.map((device, i) => examineDevice(device, `vulkan:${i}`, how, nodes));
    return { report: { ...report, devices }, nodes };
  },
};

function examineDevice(device: VulkanDevice, id: string, how: Examination, nodes: Node[]): DeviceReport {
  const findings: Finding[] = [];
  const open = attempt(findings, () => how.opened.use(VulkanContext.open({ uuid: device.id.uuid! })));
  if (open !== undefined) {
    nodes.push({ device: id, target: open, make: () => open.allocate({ ...LITTLE, memory: "host" }) });
    const images = open.image(IMAGES);
    nodes.push({ device: id, target: images, make: () => images.allocate({ shape: LITTLE.shape }) });
  }
  return {
    id,
    name: device.name,
    facts: factsOf(device),
    traits: open === undefined ? [] : traitsOf(open, attempt(findings, () => imagesOf(open)) ?? "unknown"),
    aliasing: [],
    findings,
  };
}

function factsOf({ id, driver, driverUuid, type, apiVersion, limits, memoryTypes }: VulkanDevice): Fact[] {
  const { minImportedHostPointerAlignment, minStorageBufferOffsetAlignment } = limits;
  const facts: Record<string, Fact["value"]> = {
    ...{ driver, type, apiVersion, deviceUUID: id.uuid!, driverUUID: driverUuid },
    ...(id.pci === undefined ? {} : { pci: id.pci }),
    ...{ minImportedHostPointerAlignment, minStorageBufferOffsetAlignment, memoryTypes: memoryTypes.length },
  };
  return Object.entries(facts).map(([name, value]) => ({ name, ...(value === undefined ? {} : { value }) }));
}

function traitsOf({ openDevice: { abilities, facts }, absent, id }: VulkanContext, images: string): Trait[] {
  const { opaqueFd, dmaBuf, hostPointer, binaryFd, timelineFd, syncFd, fenceSyncFd } = abilities;
  const kinds = { opaqueFd, dmaBuf, hostPointer, binaryFd, timelineFd, syncFd, fenceSyncFd };
  const able = (side: "exports" | "imports") =>
    Object.entries(kinds).filter(([, ability]) => ability[side]).map(([name]) => WORDS[name as keyof typeof kinds]);
  return [
    { label: "device", text: `${facts.type}; Vulkan ${facts.apiVersion}; ${facts.driver}` },
    { label: "exports", text: able("exports").join(", ") || "nothing" },
    { label: "imports", text: able("imports").join(", ") || "nothing" },
    { label: "images", text: images },
    ...lackingTraits(facts.name, absent),
    { label: "Win32", text: "its handles need Windows: opaque Win32, D3D11 textures, D3D12 heaps and resources" },
    ...identityTraits(id),
  ];
}

/** One format stands for all: every device has it. */
const IMAGES = "R8G8B8A8_UNORM";

/** The fds by which its images cross, by the order of their pixels. @throws {NativeCallError} if the query fails. */
function imagesOf(open: VulkanContext): string {
  const target = open.image(IMAGES);
  const modifiers = target.modifiers.slice(0, MAX_MODIFIERS);
  const orders: readonly Order[] = ["optimal", "linear", ...modifiers];
  const reported = orders.map((order) => {
    const fds = (["opaque-fd", "dma-buf"] as const).flatMap((kind) => {
      const [out, into] = (["exports", "imports"] as const).map((side) =>
        closedFor(target, kind, side, order) === undefined
      );
      return out || into ? [`${[out ? "out" : "", into ? "in" : ""].filter(Boolean).join(" and ")} by ${kind}`] : [];
    });
    const name = typeof order === "bigint" ? `modifier 0x${order.toString(16)}` : order;
    return `${name} ${fds.join(", ") || "by no fd"}`;
  });
  const more = target.modifiers.length - modifiers.length;
  return `${IMAGES}: ${reported.join("; ")}${more > 0 ? `; ${more} modifiers more` : ""}`;
}

/** The report lists at most this many. */
const MAX_MODIFIERS = 4;

const WORDS = {
  opaqueFd: "memory as opaque fds",
  dmaBuf: "memory as dma-bufs",
  hostPointer: "host memory",
  binaryFd: "binary semaphores",
  timelineFd: "timeline semaphores",
  syncFd: "sync files",
  fenceSyncFd: "fences as sync files",
};
