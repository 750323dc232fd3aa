// Loaded into each part of a mesh with `--import`. Ends the part when the process that started it has ended, whatever
// the reason, because the channel between them closes then.
process.on('disconnect', () => process.kill(process.pid, 'SIGTERM'));
// The channel alone must not keep the process alive.
process.channel?.unref();
