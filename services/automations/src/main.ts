import { startProgram } from '@commonplace/kit/program';

await startProgram('automations', () => import('./serve.js'));
