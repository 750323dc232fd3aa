import type { TableState } from './compute.js';
import { ID_FIELD } from './image.js';
import type { Breathe } from './slices.js';

/** Returns a function that finds the index of a row by its id. Reads no ids if `isNeeded` is false. */
export async function idFinder({ view }: TableState, isNeeded: boolean, breathe: Breathe) {
  if (!isNeeded || view.rowCount === 0) return () => undefined;
  const [ids] = await view.load([ID_FIELD], breathe);
  const places = new Uint32Array(ids?.terms.cells.length ?? 0);
  let at = 0;
  for (const vector of ids?.vectors ?? []) {
    for (const code of vector) places[code] = ++at;
    await breathe();
  }
  return (id: string): number | undefined => {
    const place = places[ids?.terms.find(id) ?? 0] ?? 0;
    return place === 0 ? undefined : place - 1;
  };
}
