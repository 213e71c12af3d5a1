import { CL_DEVICE_PCI_BUS_INFO_KHR, CL_DEVICE_UUID_KHR } from "../../../ffi/opencl/constants.ts";
import { readClDevicePciBusInfoKhr } from "../../../ffi/opencl/structs.ts";
import { type DeviceId, pciAddress } from "../../core/device/device_id.ts";
import { type Ask, bytes, from, listed } from "./queries.ts";

const askUuid: Ask<DeviceId> = listed<DeviceId>(
  "cl_khr_device_uuid",
  from(bytes(CL_DEVICE_UUID_KHR), ({ buffer }) => ({ uuid: new Uint8Array(buffer).toHex() })),
  {},
);

const askPci: Ask<DeviceId> = listed<DeviceId>(
  "cl_khr_pci_bus_info",
  from(bytes(CL_DEVICE_PCI_BUS_INFO_KHR), (reported) => {
    const { pci_domain, pci_bus, pci_device, pci_function } = readClDevicePciBusInfoKhr(reported, 0);
    return { pci: pciAddress(pci_domain, pci_bus, pci_device, pci_function) };
  }),
  {},
);

export const askId: Ask<DeviceId> = (device) => ({ ...askUuid(device), ...askPci(device) });
