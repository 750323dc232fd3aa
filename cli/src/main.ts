import { startProgram } from '@commonplace/kit/program';

await startProgram('cli', () => import('./run.js'));
