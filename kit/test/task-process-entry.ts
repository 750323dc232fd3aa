/** The child process of `process.test.ts`: it echoes, exits, or does not answer. */
type Task = { readonly say: Uint8Array } | { readonly exit: number } | { readonly wait: true };

const about = JSON.parse(process.argv[2] ?? '') as { name: string };
process.on('message', (task: Task) => {
  if ('exit' in task) process.exit(task.exit);
  if ('say' in task) process.send?.({ name: about.name, said: task.say, secrets: Object.keys(process.env) });
});
