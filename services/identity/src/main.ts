import { startProgram } from '@commonplace/kit/program';

await startProgram('identity', () => import('./serve.js'));
