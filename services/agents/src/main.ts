import { startProgram } from '@commonplace/kit/program';

await startProgram('agents', () => import('./serve.js'));
