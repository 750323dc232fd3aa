import { startProgram } from '@commonplace/kit/program';

await startProgram('resources', () => import('./serve.js'));
