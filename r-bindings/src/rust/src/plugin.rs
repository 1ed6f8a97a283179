//! Plugins.

use dispatch_r::runtime::engine::pjrt::{ClientOptions, OptionValue, PjrtPlugin};
use dispatch_r::{arg, client, entry, make, wrap, Arg, Fault, Handle, Kind, Result, Root};
use savvy::savvy;

/// A plugin and the platform that it was asked for under.
pub struct Plugin {
    platform: String,
    plugin: PjrtPlugin,
}

impl Handle for Plugin {
    fn kind() -> &'static Kind {
        static KIND: Kind = Kind::new("PJRTPlugin", "pjrtdispatch plugin 1");
        &KIND
    }
}

#[savvy]
fn rs_plugin(platform: savvy::Sexp) -> savvy::Result<savvy::Sexp> {
    entry(|| {
        let platform = arg(&platform, "platform").string()?.to_lowercase();
        let plugin =
            PjrtPlugin::load(client::find_plugin(&platform).map_err(|fault| fault.in_argument("platform"))?)?;
        wrap(Plugin { platform, plugin })
    })
}

#[savvy]
fn rs_plugin_found(platform: savvy::Sexp) -> savvy::Result<savvy::Sexp> {
    entry(|| {
        let found = match client::find_plugin(&arg(&platform, "platforms").string()?.to_lowercase()) {
            Ok(_) => true,
            Err(Fault::Condition(told)) if matches!(&*told.code, "plugin_not_found" | "plugin") => false,
            Err(other) => return Err(other.in_argument("platforms")),
        };
        Ok(make::flag(found)?.release())
    })
}

#[savvy]
fn rs_plugin_attributes(plugin: savvy::Sexp) -> savvy::Result<savvy::Sexp> {
    entry(|| {
        let plugin: &Plugin = arg(&plugin, "plugin").handle()?;
        let attributes = plugin.plugin.attributes()?;
        let values = attributes.iter().map(|(_, value)| to_r(value)).collect::<Result<Vec<Root>>>()?;
        let named: Vec<_> =
            attributes.iter().zip(&values).map(|((name, _), value)| (name.as_str(), value.get())).collect();
        Ok(make::named_list(&named)?.release())
    })
}

/// Platform, path and version of the C API, for printing.
#[savvy]
fn rs_plugin_about(plugin: savvy::Sexp) -> savvy::Result<savvy::Sexp> {
    entry(|| {
        let plugin: &Plugin = arg(&plugin, "x").handle()?;
        let (major, minor) = plugin.plugin.api_version();
        let path = plugin.plugin.path().display().to_string();
        Ok(make::strings(&[plugin.platform.clone(), path, format!("{major}.{minor}")])?.release())
    })
}

#[savvy]
fn rs_plugin_client_create(
    plugin: savvy::Sexp,
    platform: savvy::Sexp,
    options: savvy::Sexp,
) -> savvy::Result<savvy::Sexp> {
    entry(|| {
        let plugin: &Plugin = arg(&plugin, "plugin").handle()?;
        let platform = match arg(&platform, "platform").optional() {
            Some(platform) => platform.string()?.to_lowercase(),
            None => plugin.platform.clone(),
        };
        if platform != plugin.platform {
            let expected = format!("\"{}\", the platform of the plugin", plugin.platform);
            return Err(Fault::argument("value", "platform", expected, format!("\"{platform}\"")));
        }
        let options = read_options(arg(&options, "options"))?;
        client::client_object(client::create(&platform, Some(plugin.plugin), options)?)
    })
}

fn to_r(value: &OptionValue) -> Result<Root> {
    match value {
        OptionValue::Text(text) => make::string(text),
        OptionValue::Int(value) => make::sizes(&[*value]),
        OptionValue::Ints(values) => make::sizes(values),
        OptionValue::Float(value) => make::double((*value).into()),
        OptionValue::Bool(value) => make::flag(*value),
        other => make::string(&format!("{other:?}")),
    }
}

/// Client options from a named list: integers and whole doubles are integers, other doubles floats.
pub fn read_options(options: Arg<'_>) -> Result<ClientOptions> {
    let mut read = ClientOptions::new();
    for (name, value) in options.named_elements()? {
        let argument = value.arg(&name);
        let value: OptionValue = match argument.kind() {
            "character" => argument.string()?.into(),
            "logical" => argument.flag()?.into(),
            "integer" => one_or_more(argument.integers()?),
            "double" => match argument.integers() {
                Ok(whole) => one_or_more(whole),
                Err(_) => OptionValue::Float(argument.double()? as f32),
            },
            _ => {
                return Err(Fault::argument(
                    "type",
                    name.as_str(),
                    "a string, a number or TRUE or FALSE",
                    dispatch_r::describe::value(argument.get()),
                ))
            }
        };
        read = read.set(name, value);
    }
    Ok(read)
}

fn one_or_more(values: Vec<i64>) -> OptionValue {
    match values.as_slice() {
        [one] => OptionValue::Int(*one),
        _ => OptionValue::Ints(values),
    }
}
