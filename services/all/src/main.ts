import { startProgram } from '@commonplace/kit/program';

await startProgram('all', () => import('./serve.js'));
