// Program of the separate process in which `doctor` inspects a data folder.
import { startProgram } from '@commonplace/kit/program';

await startProgram('inspect', () => import('./inspect.js'));
