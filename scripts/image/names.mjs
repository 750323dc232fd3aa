// Prints the names of the images: those of the gateway, of each service, and of everything in one process.
import { SERVICES } from '../mesh.mjs';

export const NAMES = ['gateway', ...SERVICES, 'all'];

if (process.argv[1] === import.meta.filename) console.log(NAMES.join(' '));
