// Prints the names of the images: one for the gateway, for each service, and for everything in one process.
import { SERVICES } from '../mesh.mjs';

export const NAMES = ['gateway', ...SERVICES, 'all'];

if (process.argv[1] === import.meta.filename) console.log(NAMES.join(' '));
