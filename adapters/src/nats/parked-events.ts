import type { ParkedEvents } from '@commonplace/kit/events';
import { calling } from './errors.js';
import { link } from './link.js';
import { createNames } from './names.js';
import { createParking } from './parking.js';

/** Opens the parked events of an installation for a command that runs next to it. Creates no stream. */
export async function openParkedEvents(url: string): Promise<ParkedEvents & { close(): Promise<void> }> {
  const connected = await calling(() => link(url, 'commonplace events'));
  const parking = createParking({ link: async () => connected }, createNames());
  return { ...parking, close: () => connected.nc.close() };
}
