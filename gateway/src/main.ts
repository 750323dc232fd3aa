import { startProgram } from '@commonplace/kit/program';

await startProgram('gateway', () => import('./serve.js'));
