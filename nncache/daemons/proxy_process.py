"""Run a proxy as a process: what its start reads, and its signals. (nncache/daemons/proxy_process.py)"""

from collections.abc import Callable

from nncache.admin.settings import access_of
from nncache.clock import boottime
from nncache.coordination.sasl import login_of
from nncache.daemons.clients_authentication import clients_authentication_of
from nncache.daemons.daemon import Signals, run_until_signal
from nncache.daemons.namespace_stack import Security
from nncache.daemons.proxy_wiring import ProxySystem
from nncache.daemons.reloader import Reloader
from nncache.daemons.reloading import OF_PROXY
from nncache.daemons.service_manager import ServiceManager
from nncache.errors import ConfigurationError
from nncache.hadoop.kerberos.identity import identity_of
from nncache.hadoop.namenode_web import NameNodeWeb
from nncache.hadoop.settings import SettingError
from nncache.invalidation.stream import load_stream_class
from nncache.logs import set_up_logs
from nncache.proxy.limits import reserve_files
from nncache.request_logs.request_logs import RequestLogs
from nncache.settings.commands import SettingsOfProxy


def run_proxy(settings: SettingsOfProxy, load: Callable[[], SettingsOfProxy]) -> None:
    """Serve until SIGTERM or SIGINT, then let what is under way finish. At SIGHUP the settings are loaded again.

    Raises:
        StartError: this start cannot succeed; one line says why.
    """
    set_up_logs(settings.log)
    try:
        reserve_files(settings.limits, len(settings.namenodes.namenodes))
        load_stream_class(settings.channel_name)
        access = access_of(settings.admin, settings.proxy.admin_at.host)
        logs = RequestLogs(settings.request_logs, boottime)
        identity = identity_of(settings.kerberos, boottime)
        web = NameNodeWeb(settings.namenode_tls)
        security = Security(
            identity=identity,
            login=login_of(settings.zookeeper, identity),
            web=web,
            clients=clients_authentication_of(settings, identity, web, boottime),
        )
    except SettingError as error:
        raise ConfigurationError(str(error)) from error
    manager = ServiceManager()

    async def serve(signals: Signals) -> None:
        system = ProxySystem(settings, boottime, access, manager, logs, security)
        reloader = Reloader(
            load,
            settings,
            OF_PROXY,
            system.take,
            manager,
            lambda outcome: logs.note("reload", outcome=outcome),
        )

        def reload() -> None:
            logs.reopen()
            reloader.reload()

        signals.on_reload = reload
        await system.serve(signals.stop)

    run_until_signal(serve, "requests under way are finished, then it ends")
